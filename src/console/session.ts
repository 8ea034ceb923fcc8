import { type ActKey, type ConsoleSession, type ReadKey, sessionHeader } from './requests.ts'

const storageKey = 'tapchip-console-session'

/**
 * The link leads here with the page's secret behind the #. It goes to the storage of this origin, port included, so that
 * other tabs have it, and leaves the address, so that nobody sends it to somebody else.
 */
export function takeSecret(): void {
  const secret = /^#session=([\w-]+)$/.exec(location.hash)?.[1]
  if (secret === undefined) return
  sessionStorage.setItem(storageKey, secret)
  history.replaceState(null, '', location.pathname + location.search)
}

/** Once the server knows it. */
export function keepSecret(): void {
  const secret = sessionStorage.getItem(storageKey)
  if (secret === null) return
  localStorage.setItem(storageKey, secret)
  sessionStorage.removeItem(storageKey)
}

/** A link that somebody made up must not end the session that this browser has. @returns whether there was such a secret */
export function dropSecret(): boolean {
  const isGiven = sessionStorage.getItem(storageKey) !== null
  sessionStorage.removeItem(storageKey)
  return isGiven
}

export const sessionHeaders = (): Record<string, string> => ({
  [sessionHeader]: sessionStorage.getItem(storageKey) ?? localStorage.getItem(storageKey) ?? '',
})

let session: ConsoleSession | undefined

export const setSession = (known: ConsoleSession): void => {
  session = known
}

/** @throws Error before it was loaded */
export const currentSession = (): ConsoleSession => {
  if (session === undefined) throw new Error('The session is not loaded yet.')
  return session
}

/** False: it is not shown. */
export const may = (key: ReadKey | ActKey): boolean => session?.may.includes(key) ?? false

/**
 * For what changes with transactions, deliveries and claims: these events are not told by team, so a credential of one is
 * told nothing of them.
 */
export const askEveryMs = (): number => (currentSession().who?.team === null ? 30_000 : 5000)
