/** The page's root element: it has the ref, the addresses to ask, and all of the script's texts. */
export const page = document.querySelector<HTMLElement>('main[data-ref]')

/** A sentence in the page's language; empty if the page has none, so that nothing wrong is shown. */
export const word = (name: string): string => page?.dataset[`say${name}`] ?? ''

/** An answer to `act` and `live`: cards of the page as HTML from the daemon. */
export interface Answer {
  cards: { key: string; html: string }[]
  endsAt?: string
  /** Something is pending, so there will be more. */
  isLive?: boolean
}

export const isAnswer = (value: unknown): value is Answer =>
  typeof value === 'object' && value !== null && Array.isArray((value as Answer).cards)

let ahead = 0

/** The daemon's time, in milliseconds since 1970: a phone's own clock may be hours away. */
export const now = (): number => Date.now() + ahead

/**
 * POSTs fields as a form would, and learns the daemon's time from the answer.
 * @throws TypeError without a connection, AbortError if it was aborted
 */
export async function post(
  url: string,
  fields: Iterable<[string, string]>,
  { accept = 'application/json', ...how }: { accept?: string; signal: AbortSignal; keepalive?: boolean },
): Promise<Response> {
  const sent = Date.now()
  const body = new URLSearchParams([...fields])
  // The daemon's HTML is to fit this page, whatever has become of its actions.
  const { layout } = page?.dataset ?? {}
  if (layout) body.set('layout', layout)
  const answer = await fetch(url, {
    method: 'POST',
    body,
    headers: { accept },
    ...how,
  })
  const serverTime = Date.parse(answer.headers.get('date') ?? '')
  // The header is cut to whole seconds, and the return trip took half of the time.
  if (serverTime) ahead = serverTime + 500 - (sent + Date.now()) / 2
  return answer
}
