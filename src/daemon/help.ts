/** What `tapchipd --help` prints. */
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
  TAPCHIP_TRUST_PROXY       how many proxies stand in front, or their networks
  TAPCHIP_ADMIN_REMOTE      on: /admin and /metrics answer through a proxy as well
  TAPCHIP_ADMIN_TOKEN       the first admin token, in place of the file admin.token
  TAPCHIP_DATA_KEY          the data key, 64 hex digits, in place of the file data.key
  TAPCHIP_WIRE_PREFIX       the word in x-…-api-key, x-…-code and …Ref (svc)
  TAPCHIP_WIRE_BADGE        the word in /…-events and …Events (badge)
  and TAPCHIP_HOST, _PORT, _DATA_DIR, _BASE_URL, _CONFIG, _SEED, _EPHEMERAL, _LOG_LEVEL

Prints one JSON line when it is ready; logs are JSON on standard error. SIGTERM ends it, all requests answered.
`
