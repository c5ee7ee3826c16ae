"""`zenfs exporter` for the tests of its users: started on a port that is free, ended with the block."""
import socket
import subprocess
import urllib.request

from cli_case import ZENFS


class ExporterProcess:
    def __init__(self, *words, command=(ZENFS,)):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self.process = subprocess.Popen([*command, "exporter", *words, f"--listen={self.address}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if not self.process.stdout.readline():  # it does not serve
            raise AssertionError(self.process.communicate(timeout=30)[1])

    def get(self, path):
        with urllib.request.urlopen(f"http://{self.address}{path}", timeout=30) as answer:
            return answer.read().decode()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.process.terminate()
        said = self.process.communicate(timeout=30)[1]
        if self.process.returncode != 0 and exception[0] is None:
            raise AssertionError(f"the exporter ended with {self.process.returncode}: {said}")
