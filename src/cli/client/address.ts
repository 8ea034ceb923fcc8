interface Parts {
  readonly params?: Readonly<Record<string, unknown>> | undefined
  readonly query?: Readonly<Record<string, unknown>> | undefined
}

/** Turns `GET /refs/:id` and its parameters into a method and a path. */
export const addressOf = (key: string, { params = {}, query = {} }: Parts, wireBadge: string) => {
  const [method = 'GET', pattern = '/'] = key.split(' ', 2)
  const path = pattern
    .replace(/\/badge-events(?=\/|$)/, `/${encodeURIComponent(wireBadge)}-events`)
    .replace(/:([A-Za-z]+)/g, (_, name: string) => segment(params[name]))
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value ?? []].flat()).map(
      (one) => `${encodeURIComponent(name)}=${encodeURIComponent(String(one))}`,
    ),
  )
  return { method, path: pairs.length === 0 ? path : `${path}?${pairs.join('&')}` }
}

/** `.` and `..` are escaped: proxies would resolve them as directories. */
const segment = (value: unknown): string =>
  encodeURIComponent(String(value ?? '')).replace(/^\.{1,2}$/, (dots) => '%2E'.repeat(dots.length))

/** The address of a daemon, or the path of its Unix socket. */
export interface Listener {
  readonly url: URL
  readonly socket?: string
}

export const isDaemonUrl = (text: string): boolean => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return !!url && (url.protocol === 'http:' || url.protocol === 'https:') && !url.username && !url.password
}

const unix = 'unix:'

/** `http://…`, or `unix:` and an absolute socket path. */
export const isAdminAddress = (text: string): boolean =>
  text.startsWith(unix) ? /^\/./.test(text.slice(unix.length)) : isDaemonUrl(text)

export const listenerAt = (address: string): Listener =>
  address.startsWith(unix)
    ? { url: new URL('http://localhost'), socket: address.slice(unix.length) }
    : { url: new URL(address) }

export const shownListener = ({ url, socket }: Listener): string =>
  socket === undefined ? url.host : `${unix}${socket}`
