/** Removes secrets from what somebody sends to strangers. It rather removes too much. */
export type Scrub = (value: unknown) => unknown

/** Ordinary settings, which are worth knowing; everything else in the environment counts as secret. */
const openNames =
  /^TAPCHIP_(URL|ADMIN_URL|CONTEXT|HOST|PORT|DATA_DIR|BASE_URL|CONFIG|SEED|LOG_LEVEL|EPHEMERAL|RATE_LIMIT|.*_RATE_LIMIT|.*_TTL_SECONDS|.*_CONNECTIONS|TRUST_PROXY|ADMIN_(LISTEN|REMOTE)|WIRE_.*|DEV_.*|CONFIRMATIONS_\d+|(MAX_FEE|MIN_TIP|MAX_TIP)_GWEI_\d+|MAX_GAS_\d+|BADGE_.*|MIGRATION_BACKUP|KEYSTORE|DEBUG)$/

export const secretsIn = (env: Readonly<Record<string, string | undefined>>): string[] =>
  Object.entries(env).flatMap(([name, value]) =>
    value && name.startsWith('TAPCHIP_') && !openNames.test(name)
      ? [value, ...value.split(',').map((part) => part.trim())]
      : [],
  )

/** Shorter ones are not names, and would be found inside ordinary words. */
const minSecretLength = 6

const secretField =
  /(key|token|secret|passw|passphrase|mnemonic|signature|recipient|owner|e-?mail|device|otp|codes$|^refs?$)/i
/** @param known secrets that this machine has @param home becomes `~`, since it has the name of a person */
export const scrubber = (known: readonly string[], home: string): Scrub => {
  const exact = [...new Set(known)]
    .filter((secret) => secret.length >= minSecretLength)
    .sort((a, b) => b.length - a.length)
  const clean = (text: string): string => {
    let rest = text
    for (const secret of exact) rest = rest.replaceAll(secret, '(secret)')
    if (home.length > 1) rest = rest.replaceAll(home, '~')
    return (
      rest
        .replace(/\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>)\]]+/gi, originOf)
        .replace(/\b(svc|adm|whsec|sk|pk)_[\w+/=-]{4,}/g, '$1_(secret)')
        .replace(/[^\s@"'<>:,;()]+@[^\s@"'<>:,;()]+\.[a-z]{2,}/gi, '(e-mail)')
        // Keys, MACs, hashes, addresses; a UID is shorter.
        .replace(/(0x)?[0-9a-f]{15,}/gi, (hex) => `(${hex.replace(/^0x/, '').length} hex digits)`)
        // Refs, codes, and other ids that cannot be guessed.
        .replace(/(?<![\w-])[\w-]{21}(?![\w-])/g, (word) => (/^[a-z_-]+$/.test(word) ? word : '(id)'))
    )
  }
  const scrub: Scrub = (value) => {
    if (typeof value === 'string') return clean(value)
    if (Array.isArray(value)) return value.map(scrub)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [
        clean(name),
        typeof inner === 'string' && secretField.test(name) ? '(secret)' : scrub(inner),
      ]),
    )
  }
  return scrub
}

/** Paths of nodes, databases, and taps are secrets; so are names before the `@`. */
const originOf = (text: string): string => {
  if (!URL.canParse(text)) return '(URL)'
  const { protocol, host, pathname, search, hash, username } = new URL(text)
  const isWhole = (pathname === '' || pathname === '/') && `${search}${hash}${username}` === ''
  return `${protocol}//${host}${isWhole ? '' : '/…'}`
}
