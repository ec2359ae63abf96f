"""The pages as a server of this machine: who may look (`guard`, `access`), where it is (`address`), and how it is started (`start`)."""
