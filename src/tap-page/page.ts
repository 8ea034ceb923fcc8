/** The page's own element: it carries the ref, the addresses to ask, and all words that the script says. */
export const page = document.querySelector<HTMLElement>('main[data-ref]')

/** A sentence of the page in its language; empty where the page has none, so that nothing wrong is said. */
export const word = (name: string): string => page?.dataset[`say${name}`] ?? ''

/** An answer to `act` and `live`: pieces of the page as HTML, made by the daemon alone. */
export interface Answer {
  cards: { key: string; html: string }[]
  endsAt?: string
  /** Something is under way, so there will be more. */
  isLive?: boolean
}

export const isAnswer = (value: unknown): value is Answer =>
  typeof value === 'object' && value !== null && Array.isArray((value as Answer).cards)

let ahead = 0

/** The daemon's time, in milliseconds since 1970: a phone's own clock may be hours away. */
export const now = (): number => Date.now() + ahead

/**
 * POSTs fields as a form would, and learns the daemon's time from the answer.
 * @throws TypeError without a connection, AbortError where it was ended
 */
export async function post(
  url: string,
  fields: Iterable<[string, string]>,
  { accept = 'application/json', ...how }: { accept?: string; signal: AbortSignal; keepalive?: boolean },
): Promise<Response> {
  const sent = Date.now()
  const answer = await fetch(url, {
    method: 'POST',
    body: new URLSearchParams([...fields]),
    headers: { accept },
    ...how,
  })
  const told = Date.parse(answer.headers.get('date') ?? '')
  // The header is cut to whole seconds, and the answer took half of the way back.
  if (told) ahead = told + 500 - (sent + Date.now()) / 2
  return answer
}
