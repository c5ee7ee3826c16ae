"""QEMU's monitor (QMP) over a socket, as much of it as the lab uses."""
import json
import socket
import time


class Monitor:
    def __init__(self, path):
        self.path = path

    def command(self, name, **arguments):
        """Gives one command and waits for its answer. Raises OSError if QEMU is gone."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(10)
            self.connect(connection)
            stream = connection.makefile("rw", encoding="utf-8")
            self.answer(stream)  # its greeting
            self.ask(stream, "qmp_capabilities", {})
            return self.ask(stream, name, arguments)

    def connect(self, connection):
        deadline = time.monotonic() + 10  # QEMU may be starting
        while True:
            try:
                connection.connect(str(self.path))
                return
            except (FileNotFoundError, ConnectionRefusedError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def ask(self, stream, name, arguments):
        stream.write(json.dumps({"execute": name, "arguments": arguments}) + "\n")
        stream.flush()
        while True:
            answer = self.answer(stream)
            if "error" in answer:
                raise OSError(f"QEMU refuses {name}: {answer['error'].get('desc')}")
            if "return" in answer:  # else an event
                return answer["return"]

    @staticmethod
    def answer(stream):
        line = stream.readline()
        if not line:
            raise ConnectionResetError("QEMU has closed its monitor")
        return json.loads(line)

    def blocked_tasks(self):
        """Lets the guest's kernel print the stacks of all that wait, and of both processors, to its console."""
        for key in ("9", "w", "l"):  # 9: print all levels
            keys = [{"type": "qcode", "data": name} for name in ("alt", "sysrq", key)]
            self.command("send-key", keys=keys)
            time.sleep(1)
