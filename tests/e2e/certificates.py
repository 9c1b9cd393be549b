"""Certificates made on the spot with openssl, for the tests of TLS."""

import subprocess


def openssl(folder, *words):
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True, timeout=60)


class Authority:
    """`NAME.crt` and `NAME.key` in the folder, and whatever it signs beside them."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.crt")

    @property
    def certificate(self):
        return self.folder / f"{self.name}.crt"

    def sign(self, name, days=2):
        """The certificate and the key of a newcomer, good for 127.0.0.1; negative days: it has expired."""
        openssl(self.folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}", "-keyout",
                f"{name}.key", "-out", f"{name}.csr")
        (self.folder / f"{name}.ext").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
        openssl(self.folder, "x509", "-req", "-in", f"{name}.csr", "-CA", f"{self.name}.crt", "-CAkey", f"{self.name}.key",
                "-CAcreateserial", "-days", str(days), "-extfile", f"{name}.ext", "-out", f"{name}.crt")
        return self.folder / f"{name}.crt", self.folder / f"{name}.key"
