export const help = `Serves taps of NFC chips, their refs and codes, over HTTP, from a data directory.

EXAMPLES
  tapchipd                                              the data of this user, on port 8484
  tapchipd --ephemeral --port 0 --seed fixtures/demo.json   a daemon to try things on, gone when it stops
  tapchipd --data-dir /srv/tapchip --base-url https://tap.example.com

OPTIONS
  --host HOST        the address to listen on (127.0.0.1)
  --port PORT        the port; 0 takes a free one (8484)
  --data-dir DIR     where everything is kept ($XDG_DATA_HOME/tapchip)
  --base-url URL     the address that chips and links lead to (where it listens)
  --config FILE      settings as JSON
  --seed FILE        teams, chips and the rest to create where they are missing
  --ephemeral        keep everything in a temporary directory that goes when it stops
  --log-level LEVEL  trace, debug, info, warn, error, fatal or silent (info)
  --version          print the version
  -h, --help         print this

ENVIRONMENT (flags come first, then these, then the configuration file)
  TAPCHIP_OTP_TTL_SECONDS   how long codes live (1800)
  TAPCHIP_REF_TTL_SECONDS   how long refs wait to be queried (1800)
  TAPCHIP_RATE_LIMIT        requests a minute and client on what needs no key (600), or off
  TAPCHIP_KEY_RATE_LIMIT    requests a minute and API key (60000), or off
  TAPCHIP_MAX_CONNECTIONS, TAPCHIP_CLIENT_CONNECTIONS
                            how many there may be at once: from everywhere (4096), from one client (256)
  TAPCHIP_TRUST_PROXY       how many proxies stand in front, or their networks
  TAPCHIP_ADMIN_LISTEN      HOST:PORT for /admin and /metrics alone; the port 0 takes a free one. They are always on
                            admin.sock in the data directory, and leave the port where chips lead once this is set,
                            or a base URL that is not on loopback
  TAPCHIP_ADMIN_REMOTE      on: /admin and /metrics stay there as well, and answer through a proxy
  TAPCHIP_ADMIN_TOKEN       the first admin token, 16 characters or more, in place of admin.token
  TAPCHIP_DATA_KEY          the data key, 64 hex digits, in place of the file data.key
  TAPCHIP_BACKUP_PASSPHRASE once, after a backup was put back: makes data.key out of its data.key.enc
  TAPCHIP_BADGE_PROVIDER    where badge events are created: embedded (here, the default) or poap
  TAPCHIP_BADGE_APPROVAL    auto, or manual: an operator approves the events that are created here
  TAPCHIP_POAP_…            the account at POAP: see docs/badges.md
  TAPCHIP_WIRE_PREFIX       the word in x-…-api-key, x-…-code and …Ref (svc)
  TAPCHIP_WIRE_BADGE        the word in /…-events and …Events (badge)

  TAPCHIP_DEV_CHAIN         off: no embedded chain, which has the id 31337
  TAPCHIP_DEV_RPC           full: its RPC lets everything through, for tests (guarded)
  TAPCHIP_RPC_<id>          the RPC URL of a chain that others run, by its chain id
  TAPCHIP_CONFIRMATIONS_<id>, TAPCHIP_MAX_FEE_GWEI_<id>, TAPCHIP_EXPIRY_BLOCKS_<id>
                            how deep a transaction has to lie (2), the most gwei offered for gas (200), how many
                            blocks a transfer signature stays good (about 30 minutes of them)
  TAPCHIP_RELAYER_KEY_<id>, TAPCHIP_SIGN_VERIFIER_KEY_<id>
                            the keys that send, and that sign transfers: 64 hex digits
  TAPCHIP_KEYSTORE, TAPCHIP_KEYSTORE_PASSWORD_FILE
                            a folder with <id>-relayer.json and <id>-sign-verifier.json in their place
  TAPCHIP_OPENSEA_API_KEY   have OpenSea read changed metadata again
  TAPCHIP_OPENSEA_URL       an API like OpenSea's (https://api.opensea.io)

  and TAPCHIP_HOST, _PORT, _DATA_DIR, _BASE_URL, _CONFIG, _SEED, _EPHEMERAL, _LOG_LEVEL

Prints one JSON line when it is ready; logs are JSON on standard error. SIGTERM ends it, all requests answered.
`
