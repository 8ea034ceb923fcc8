const key = 'tapchip-device'

/** This browser's own random name, which stays on it; empty where nothing can be kept. */
export function deviceId(): string {
  try {
    const known = localStorage.getItem(key)
    if (known && /^[0-9a-f]{32}$/.test(known)) return known
    const bytes = crypto.getRandomValues(new Uint8Array(16))
    const made = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
    localStorage.setItem(key, made)
    return made
  } catch {
    return ''
  }
}
