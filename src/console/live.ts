import { useEffect, useState } from 'preact/hooks'
import { RequestProblem, send } from './api.ts'
import { type LiveChange, type LiveEvent, type LiveTap, maxLiveTaps } from './requests.ts'

export interface LiveState {
  /** Newest first. */
  readonly taps: readonly LiveTap[]
  /** Since when the daemon does not answer, and why. */
  readonly away: { readonly since: string; readonly message: string } | undefined
  /** The console's own program does not answer. */
  readonly isGone: boolean
  /** Other windows take all the streams that a browser may have. */
  readonly isCrowded: boolean
}

export type Changed = LiveChange | 'taps'

const retryMs = 1000
const showEveryMs = 100
/** The server sends something every 15 seconds. */
const silenceMs = 40_000
const minuteSeconds = 60

let state: LiveState = { taps: [], away: undefined, isGone: false, isCrowded: false }
const listeners = new Set<() => void>()
const changeListeners = new Set<(kinds: readonly Changed[] | 'all') => void>()
/** Oldest first. */
let waiting: LiveTap[] = []
let isScheduled = false
let lastSeq = 0
let isAgain = false
let lastFlush = 0
/** By second, then by team: more than the list has. */
const counts = new Map<number, Map<string | null, number>>()

/** All that came in is shown in one frame: nobody reads more than ten a second. */
function schedule(): void {
  if (isScheduled) return
  isScheduled = true
  const wait = document.visibilityState === 'visible' ? lastFlush + showEveryMs - performance.now() : 1000
  setTimeout(() => (document.visibilityState === 'visible' ? requestAnimationFrame(flush) : flush()), wait)
}

function flush(): void {
  isScheduled = false
  lastFlush = performance.now()
  const taps = [...waiting.reverse(), ...state.taps].slice(0, maxLiveTaps)
  waiting = []
  set({ ...state, taps })
  tellChanged(['taps'])
}

function set(next: LiveState): void {
  state = next
  for (const listener of listeners) listener()
}

function tellChanged(kinds: readonly Changed[] | 'all'): void {
  for (const listener of changeListeners) listener(kinds)
}

const isHidden = (): boolean => document.visibilityState !== 'visible'

/** A browser has six connections to a host for all its tabs, so that one nobody sees must hold none. */
async function becomeVisible(): Promise<void> {
  while (isHidden())
    await new Promise((resolve) => document.addEventListener('visibilitychange', resolve, { once: true }))
}

/** Until the stream ends, or nobody sees this tab. */
async function followOnce(): Promise<void> {
  let isLeft = false
  const ended = new AbortController()
  let watchdog: ReturnType<typeof setTimeout> | undefined
  const watch = () => {
    clearTimeout(watchdog)
    watchdog = setTimeout(() => ended.abort(), silenceMs)
  }
  const onVisibility = () => {
    if (!isHidden()) return
    isLeft = true
    ended.abort()
  }
  document.addEventListener('visibilitychange', onVisibility)
  try {
    watch()
    const response = await send(`/stream?after=${lastSeq}`, { signal: ended.signal })
    if (state.isGone || state.isCrowded) set({ ...state, isGone: false, isCrowded: false })
    // Changes since the last stream were not told.
    if (isAgain) tellChanged('all')
    isAgain = true
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
  } catch (error) {
    if (!isLeft) throw error
  } finally {
    clearTimeout(watchdog)
    document.removeEventListener('visibilitychange', onVisibility)
  }
}

function receive(event: LiveEvent): void {
  if ('away' in event) set({ ...state, away: event.away ?? undefined })
  else if ('changed' in event) tellChanged(event.changed)
  else {
    lastSeq = event.seq
    waiting = [...waiting, ...event.taps].slice(-maxLiveTaps)
    count(event.taps)
    schedule()
  }
}

function count(taps: readonly LiveTap[]): void {
  for (const { at, team } of taps) {
    const second = Math.floor(Date.parse(at) / 1000)
    const ofSecond = counts.get(second) ?? new Map<string | null, number>()
    ofSecond.set(team, (ofSecond.get(team) ?? 0) + 1)
    counts.set(second, ofSecond)
  }
  const since = Date.now() / 1000 - minuteSeconds
  for (const second of counts.keys()) if (second < since) counts.delete(second)
}

/** @param team its taps, and those of unknown chips; empty: all */
export function tapsOfLastMinute(team: string, now: number): number {
  let sum = 0
  for (const [second, ofSecond] of counts)
    if (second > now / 1000 - minuteSeconds)
      for (const [of, taps] of ofSecond) if (team === '' || of === null || of === team) sum += taps
  return sum
}

/** Follows until the page is closed, over restarts of the daemon and of the console. */
export async function startLive(): Promise<void> {
  for (;;) {
    await becomeVisible()
    try {
      await followOnce()
    } catch (error) {
      const status = error instanceof RequestProblem ? error.status : 0
      const isCrowded = status === 429
      if (isCrowded !== state.isCrowded || isCrowded === state.isGone)
        set({ ...state, isGone: !isCrowded, isCrowded })
      if (status === 401) return
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

/** Calls back when one of these may have changed. @returns a function that unsubscribes */
export function onChange(kinds: readonly Changed[], callback: () => void): () => void {
  const listener = (changed: readonly Changed[] | 'all') => {
    if (changed === 'all' || changed.some((kind) => kinds.includes(kind))) callback()
  }
  changeListeners.add(listener)
  return () => void changeListeners.delete(listener)
}
