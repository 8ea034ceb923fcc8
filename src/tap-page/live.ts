import { say, show } from './cards.ts'
import { type Answer, isAnswer, page, post, word } from './page.ts'

/** Failed requests after which an idle page stops asking. */
const maxFailures = 8
/** If a stream is silent for this long at its start, a proxy is buffering it. */
const firstWordMs = 6000
/** Three times the daemon's longest silence. */
const silenceMs = 45_000
const pollMs = { first: 2000, most: 15_000 }

let isStreaming = true
let wait = pollMs.first
let failures = 0
let timer: ReturnType<typeof setTimeout> | undefined
let running: AbortController | undefined

/** Asks once, now; if something is pending, updates follow. */
export function ask(): void {
  begin(false)
}

/** Keeps the page up to date while something is pending. */
export function follow(): void {
  wait = pollMs.first
  begin(isStreaming)
}

/** Pauses while the page is hidden, and asks at once when it is shown again. */
export function keepLive(): void {
  const wake = () => (document.hidden ? rest() : follow())
  document.addEventListener('visibilitychange', wake)
  addEventListener('online', wake)
  addEventListener('offline', rest)
  addEventListener('pagehide', rest)
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) wake()
  })
  wake()
}

function rest(): void {
  clearTimeout(timer)
  running?.abort()
  running = undefined
}

function begin(asStream: boolean): void {
  rest()
  const { ref, live } = page?.dataset ?? {}
  if (!ref || !live || document.hidden) return
  const ended = new AbortController()
  running = ended
  void run(live, ref, asStream, ended).then((isLive) => {
    if (running !== ended) return
    running = undefined
    if (isLive) later()
  })
}

/** Waits longer each time, with a random part, so that phones that began together spread out. */
function later(): void {
  timer = setTimeout(() => begin(isStreaming), wait * (0.75 + Math.random() / 2))
  wait = Math.min(wait * 1.5, pollMs.most)
}

/** @returns true if there is more to come */
async function run(url: string, ref: string, asStream: boolean, ended: AbortController): Promise<boolean> {
  let isLive = page?.querySelector('[data-state=pending]') !== null
  let hasHeard = false
  let alarm = setTimeout(() => ended.abort(), asStream ? firstWordMs : silenceMs)
  const heard = () => {
    clearTimeout(alarm)
    alarm = setTimeout(() => ended.abort(), silenceMs)
  }
  const take = (answer: unknown): void => {
    if (!isAnswer(answer)) throw new SyntaxError('no cards')
    isLive = isUnderWay(answer)
    show(answer)
  }
  try {
    const accept = asStream ? 'text/event-stream' : 'application/json'
    const answer = await post(url, [['ref', ref]], { accept, signal: ended.signal })
    if (answer.status === 404 || answer.status === 410) return endPage()
    const seconds = Number(answer.headers.get('retry-after'))
    if (seconds > 0) wait = Math.max(wait, Math.min(seconds, 60) * 1000)
    const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream')
    if (isStream && answer.body) {
      for await (const data of eventsOf(answer.body, heard)) {
        hasHeard = true
        wait = pollMs.first
        take(JSON.parse(data))
      }
    } else take(await answer.json())
    failures = 0
  } catch {
    // Another stream has replaced it, or the page is hidden.
    if (running !== ended) return false
    failures += 1
    // Closed, buffered, or without a connection: polling is tried next.
    if (!hasHeard) isStreaming = !asStream
    if (failures < maxFailures) isLive = true
  } finally {
    clearTimeout(alarm)
  }
  return isLive
}

/** Neither asking again nor another press would help. */
function endPage(): false {
  for (const form of page?.querySelectorAll('form[data-action]') ?? []) say(form, word('Ended'), 'failed')
  return false
}

const isUnderWay = ({ isLive }: Answer): boolean =>
  isLive ?? page?.querySelector('[data-state=pending]') !== null

/**
 * Yields the data of each server-sent event. EventSource can only GET, and a ref must not appear in a URL.
 * @param heard called for everything that arrives, including comments
 */
async function* eventsOf(
  body: ReadableStream<Uint8Array>,
  heard: () => void,
): AsyncGenerator<string, void, void> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    while (true) {
      const { done, value } = await reader.read()
      if (done) return
      heard()
      rest += decoder.decode(value, { stream: true })
      const events = rest.split(/\r?\n\r?\n/)
      rest = events.pop() ?? ''
      for (const event of events) {
        const data = event.split(/\r?\n/).filter((line) => line.startsWith('data:'))
        if (data.length > 0) yield data.map((line) => line.slice(5).trimStart()).join('\n')
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
