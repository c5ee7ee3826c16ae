package zenfs.ycsb;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Set;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;

/** The fields of a YCSB record in one value: length of the name (1 byte), of the content (4), name, content; each. */
final class Fields {
  private Fields() {}

  static byte[] encode(Map<String, ByteIterator> fields) {
    int size = 0;
    for (final Map.Entry<String, ByteIterator> field : fields.entrySet()) {
      size += 1 + 4 + field.getKey().getBytes(UTF_8).length + (int) field.getValue().bytesLeft();
    }
    final ByteBuffer out = ByteBuffer.allocate(size);
    fields.forEach((name, content) -> {
      final byte[] nameBytes = name.getBytes(UTF_8);
      final byte[] contentBytes = content.toArray();
      out.put((byte) nameBytes.length).putInt(contentBytes.length).put(nameBytes).put(contentBytes);
    });
    return out.array();
  }

  /** Puts those of `wanted` into `fields`, all of them if `wanted` is null. */
  static void decode(byte[] value, Set<String> wanted, Map<String, ByteIterator> fields) {
    final ByteBuffer in = ByteBuffer.wrap(value);
    while (in.hasRemaining()) {
      final byte[] name = new byte[in.get() & 0xff];
      final byte[] content = new byte[in.getInt()];
      in.get(name).get(content);
      final String text = new String(name, UTF_8);
      if (wanted == null || wanted.contains(text)) fields.put(text, new ByteArrayByteIterator(content));
    }
  }
}
