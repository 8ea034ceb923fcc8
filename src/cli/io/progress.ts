import type { Output } from '../system.ts'

export interface Progress {
  advance(n: number): void
  /** Erases the bar for a line of text; the next update draws it again. */
  clear(): void
  end(): void
}

const duration = (seconds: number): string => {
  if (!Number.isFinite(seconds)) return '?'
  const s = Math.ceil(seconds)
  return s < 60 ? `${s} s` : `${Math.floor(s / 60)} min ${s % 60} s`
}

/** Before that, rate and time left are guesses. */
const settledMs = 500

/** A bar on a terminal, redrawn ten times a second; elsewhere a line every five seconds. */
export const startProgress = (
  stderr: Output,
  options: {
    label: string
    total: number | undefined
    quiet: boolean
    /** A terminal that cannot rewrite a line, or that nobody looks at. */
    dumb: boolean
    now: () => Date
  },
): Progress => {
  if (options.quiet) return { advance: () => undefined, clear: () => undefined, end: () => undefined }
  const { label, total, now } = options
  // A terminal under `script` or `docker run -t` says 0 columns.
  const width = stderr.columns || 80
  const redraws = stderr.isTTY === true && !options.dumb
  const interval = redraws ? 100 : 5000
  const started = now().getTime()
  let last = redraws ? 0 : started
  let done = 0
  let drawn = false

  const describe = (time: number): string => {
    const rate = done / Math.max(0.001, (time - started) / 1000)
    const count = `${done.toLocaleString('en-US')}${total === undefined ? '' : `/${total.toLocaleString('en-US')}`}`
    if (time - started < settledMs) return count
    const eta = total === undefined ? '' : ` · ${duration((total - done) / rate)} left`
    return `${count} · ${Math.round(rate).toLocaleString('en-US')}/s${eta}`
  }
  const bar = (): string => {
    if (total === undefined || width < 70) return ''
    const filled = Math.round(24 * Math.min(1, done / Math.max(1, total)))
    return `[${'#'.repeat(filled)}${'.'.repeat(24 - filled)}] `
  }
  const clear = () => {
    if (drawn) stderr.write('\r\x1b[2K')
    drawn = false
  }
  return {
    advance: (n) => {
      done += n
      const time = now().getTime()
      if (time - last < interval) return
      last = time
      drawn = redraws
      const line = `${label} ${redraws ? bar() : ''}${describe(time)}`
      stderr.write(redraws ? `\r\x1b[2K${line.slice(0, width - 1)}` : `${line}\n`)
    },
    clear,
    end: clear,
  }
}
