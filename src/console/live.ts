import { useEffect, useState } from 'preact/hooks'
import { RequestProblem, send } from './api.ts'
import type { LiveEvent, LiveTap } from './requests.ts'

export type SeenTap = LiveTap & { readonly seq: number }

export interface LiveState {
  /** Newest first. */
  readonly taps: readonly SeenTap[]
  /** Since when the daemon does not answer, and why. */
  readonly away: { readonly since: string; readonly message: string } | undefined
  /** The console's own program does not answer. */
  readonly isGone: boolean
  /** More happened while the daemon was away than was read afterwards. */
  readonly hasGap: boolean
}

const maxTaps = 1000
const retryMs = 1000
const showEveryMs = 100
/** The server sends something every 15 seconds. */
const silenceMs = 40_000

let state: LiveState = { taps: [], away: undefined, isGone: false, hasGap: false }
const listeners = new Set<() => void>()
let waiting: LiveEvent[] = []
let isScheduled = false
let lastSeq = 0
let lastFlush = 0

/** What came in is shown in one frame, however much that was, and nobody reads more than ten a second. */
function schedule(): void {
  if (isScheduled) return
  isScheduled = true
  const wait = document.visibilityState === 'visible' ? lastFlush + showEveryMs - performance.now() : 1000
  setTimeout(() => (document.visibilityState === 'visible' ? requestAnimationFrame(flush) : flush()), wait)
}

function flush(): void {
  isScheduled = false
  lastFlush = performance.now()
  const events = waiting
  waiting = []
  let { away, hasGap } = state
  const taps: SeenTap[] = []
  for (const event of events) {
    if (event.type === 'tap') taps.push({ ...event.tap, seq: event.seq })
    else if (event.type === 'gap') hasGap = true
    else away = event.since === null ? undefined : { since: event.since, message: event.message ?? '' }
  }
  taps.reverse()
  const all = taps.length === 0 ? state.taps : [...taps, ...state.taps].slice(0, maxTaps)
  set({ ...state, taps: all, away, hasGap })
}

function set(next: LiveState): void {
  state = next
  for (const listener of listeners) listener()
}

async function followOnce(): Promise<void> {
  const ended = new AbortController()
  let watchdog: ReturnType<typeof setTimeout> | undefined
  const watch = () => {
    clearTimeout(watchdog)
    watchdog = setTimeout(() => ended.abort(), silenceMs)
  }
  try {
    watch()
    const response = await send(`/stream?after=${lastSeq}`, { signal: ended.signal })
    if (state.isGone) set({ ...state, isGone: false })
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    for (;;) {
      const piece = await reader?.read()
      if (piece === undefined || piece.done) return
      watch()
      const lines = (rest + piece.value).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) if (line !== '') receive(JSON.parse(line))
    }
  } finally {
    clearTimeout(watchdog)
  }
}

function receive(event: LiveEvent): void {
  lastSeq = event.seq
  waiting.push(event)
  if (waiting.length > 4 * maxTaps) {
    const dropped = waiting.length - 2 * maxTaps
    waiting = waiting.filter(({ type }, index) => type !== 'tap' || index >= dropped)
  }
  schedule()
}

/** Follows until the page is closed, over restarts of the daemon and of the console. */
export async function startLive(): Promise<void> {
  for (;;) {
    try {
      await followOnce()
    } catch (error) {
      if (error instanceof RequestProblem && error.status === 401) return set({ ...state, isGone: true })
      if (!state.isGone) set({ ...state, isGone: true })
    }
    await new Promise((resolve) => setTimeout(resolve, retryMs))
  }
}

/** The taps and the state of the daemon as they change. */
export function useLive(): LiveState {
  const [shown, setShown] = useState(state)
  useEffect(() => {
    const listener = () => setShown(state)
    listeners.add(listener)
    listener()
    return () => void listeners.delete(listener)
  }, [])
  return shown
}
