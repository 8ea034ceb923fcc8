/**
 * True if an origin is in a list. There, `http://localhost:*` is any port of that host, and `chrome-extension://*` any
 * extension.
 */
export function isNamed(origins: readonly string[], origin: string): boolean {
  return origins.some((one) => {
    if (one.endsWith('://*')) return origin.startsWith(one.slice(0, -1))
    if (!one.endsWith(':*')) return origin === one
    const host = one.slice(0, -2)
    return origin === host || (origin.startsWith(`${host}:`) && /^\d+$/.test(origin.slice(host.length + 1)))
  })
}

/** Headers by which a browser lets a page of this origin send JSON and read answers. */
export const corsFor = (origin: string) =>
  Object.entries({
    'access-control-allow-origin': origin,
    'access-control-allow-methods': 'POST',
    'access-control-allow-headers': 'content-type',
    // Browsers ask for it where a public page calls an address of this machine.
    'access-control-allow-private-network': 'true',
    'access-control-max-age': '600',
    vary: 'origin',
  })
