export const help = `Serves NFC chip taps, refs, and codes over HTTP from a data directory.

EXAMPLES
  tapchipd                                              this user's data directory, on port 8484
  tapchipd --ephemeral --port 0 --seed fixtures/demo.json   a temporary daemon for experiments
  tapchipd --data-dir /srv/tapchip --base-url https://tap.example.com

OPTIONS
  --host HOST        the address to listen on (127.0.0.1)
  --port PORT        the port; 0 picks a free one (8484)
  --data-dir DIR     the directory for all data ($XDG_DATA_HOME/tapchip)
  --base-url URL     the base address in chips and links (the address it listens on)
  --config FILE      settings as JSON
  --seed FILE        teams, chips, and more, created if they are missing
  --ephemeral        keep everything in a temporary directory that is removed when the daemon stops
  --dev              for tapchip dev: with --ephemeral, a ref may be queried again within five seconds
  --log-level LEVEL  trace, debug, info, warn, error, fatal, or silent (info)
  --restore BACKUP   put a backup into the data directory, and exit; see tapchip restore
  --version          print the version
  -h, --help         print this help

ENVIRONMENT (flags override these, and these override the configuration file). Each is a flag too: TAPCHIP_REF_TTL_SECONDS
is --ref-ttl-seconds 60, TAPCHIP_DEV_CHAIN is --dev-chain off. Secrets and the settings of one chain (…_<id>) are not.
  TAPCHIP_OTP_TTL_SECONDS   lifetime of codes (1800)
  TAPCHIP_REF_TTL_SECONDS   time in which a ref can be queried (1800)
  TAPCHIP_KEEP_TAPS_DAYS    days after which taps, refs, and codes are deleted (730), or off
  TAPCHIP_KEEP_EMAILS_DAYS  days after which a badge's email address becomes a keyed hash (90), or off
  TAPCHIP_SMTP_URL, TAPCHIP_SMTP_FROM
                            smtp://USER:PASSWORD@HOST:PORT or smtps://…, and the sender: tap pages then offer to keep a
                            piece by e-mail
  TAPCHIP_RATE_LIMIT        requests per minute and client for endpoints without a key (600), or off
  TAPCHIP_KEY_RATE_LIMIT    requests per minute and API key (60000), or off
  TAPCHIP_MAX_CONNECTIONS, TAPCHIP_CLIENT_CONNECTIONS
                            maximum concurrent connections: in total (4096), per client (256)
  TAPCHIP_DRAIN_SECONDS     how long a daemon that is to stop goes on serving, while /readyz is 503 already (0)
  TAPCHIP_TRUST_PROXY       the number of proxies in front of the daemon, or their networks
  TAPCHIP_ADMIN_LISTEN      HOST:PORT for /admin and /metrics only; the port 0 picks a free one. They are always on
                            admin.sock in the data directory. They leave the public port once this is set, or if that
                            port or the base URL is not on loopback
  TAPCHIP_ADMIN_REMOTE      on: /admin and /metrics stay on the public port and answer through a proxy
  TAPCHIP_ADMIN_TOKEN       the first admin token, 16 characters or more, instead of admin.token
  TAPCHIP_DATABASE_URL      postgres://USER:PASSWORD@HOST/DATABASE: a database that several daemons share, instead of one
                            in the data directory (databaseUrl in the configuration file); needs TAPCHIP_DATA_KEY
  TAPCHIP_DATABASE_CONNECTIONS
                            the most connections that this daemon opens to that database (24)
  TAPCHIP_DATA_KEY          the data key, 64 hex digits, instead of the file data.key
  TAPCHIP_BACKUP_PASSPHRASE the passphrase of the backup, for --restore
  TAPCHIP_MIGRATION_BACKUP  off: no copy of the database before a newer version changes its schema
  TAPCHIP_BADGE_PROVIDER    where new badge events are created: embedded (here, the default) or poap
  TAPCHIP_BADGE_APPROVAL    auto, or manual: an operator approves the events that are created here
  TAPCHIP_POAP_…            the account at POAP: see docs/badges.md
  TAPCHIP_WIRE_PREFIX       the word in x-…-api-key, x-…-code, and …Ref (svc)
  TAPCHIP_WIRE_BADGE        the word in /…-events and …Events (badge)

  TAPCHIP_DEV_CHAIN         off: no embedded chain, which has the id 31337
  TAPCHIP_DEV_RPC           full: its RPC allows everything, for tests (guarded)
  TAPCHIP_DEV_RPC_PORT      the port of its RPC, if it is free (any)
  TAPCHIP_DEV_RPC_ORIGINS   web pages that may use it, such as http://localhost:*,chrome-extension://* (none)
  TAPCHIP_RPC_<id>          the RPC URL of a remote chain, by its chain id; or several, separated by commas
  TAPCHIP_CONFIRMATIONS_<id>, TAPCHIP_MAX_FEE_GWEI_<id>, TAPCHIP_EXPIRY_BLOCKS_<id>
                            the depth of a final transaction (2), the maximum fee in gwei (200), and the lifetime of a
                            transfer signature in blocks (about 30 minutes' worth)
  TAPCHIP_MIN_TIP_GWEI_<id>, TAPCHIP_MAX_TIP_GWEI_<id>, TAPCHIP_MAX_GAS_<id>
                            the least and the highest tip in gwei (as the node suggests), and the most gas that a
                            transfer by code may use (2000000)
  TAPCHIP_RELAYER_KEY_<id>, TAPCHIP_SIGN_VERIFIER_KEY_<id>
                            the keys that send transactions, and that sign transfers: 64 hex digits
  TAPCHIP_RELAYERS_<id>     the number of relayers, which send side by side (1); the keys of further ones are in
                            TAPCHIP_RELAYER_KEY_<id>_2 and so on
  TAPCHIP_SIGNER_<id>       the URL of a web3signer (eth1) that has the relayers' keys, which are not needed here then
  TAPCHIP_KEYSTORE, TAPCHIP_KEYSTORE_PASSWORD_FILE
                            instead: a folder with <id>-relayer.json, <id>-relayer-2.json, <id>-sign-verifier.json
  TAPCHIP_RELAYER_LOW       webhooks tell of a relayer with money for fewer transactions than this (100), or off
  TAPCHIP_WEBHOOKS_PRIVATE  on: webhooks may lead to private addresses, also by http
  TAPCHIP_OPENSEA_API_KEY   lets OpenSea refresh changed metadata
  TAPCHIP_OPENSEA_URL       an API like OpenSea's (https://api.opensea.io)
  TAPCHIP_IPFS_GATEWAY, TAPCHIP_ARWEAVE_GATEWAY
                            where the tap page's pictures are read from (https://ipfs.io, https://arweave.net)

  and TAPCHIP_HOST, _PORT, _DATA_DIR, _BASE_URL, _CONFIG, _SEED, _EPHEMERAL, _LOG_LEVEL

Prints one JSON line when it is ready; logs are JSON on standard error. SIGTERM stops it after all requests are answered.
`
