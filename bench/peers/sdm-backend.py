"""Serves sdm-backend as it is, from the checkout in TAPCHIP_BENCH_SDM_BACKEND, as it is configured when nobody does."""

import os
import sys

checkout = os.environ["TAPCHIP_BENCH_SDM_BACKEND"]
sys.path.insert(0, checkout)

try:
    import Crypto
except ImportError:
    # As Debian calls the package that it asks for.
    import Cryptodome.Cipher.AES
    import Cryptodome.Hash.CMAC
    import Cryptodome.Protocol.SecretSharing

    for name, module in list(sys.modules.items()):
        if name.startswith("Cryptodome"):
            sys.modules[name.replace("Cryptodome", "Crypto", 1)] = module

if not os.path.exists(f"{checkout}/config.py"):
    import importlib.util

    given = importlib.util.spec_from_file_location("config", f"{checkout}/config.dist.py")
    sys.modules["config"] = importlib.util.module_from_spec(given)
    given.loader.exec_module(sys.modules["config"])

from app import app  # noqa: E402
