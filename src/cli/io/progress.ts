import type { Output } from '../surroundings.ts'

export interface Progress {
  /** `n` more are done. */
  advance(n: number): void
  /** Takes the bar away. */
  end(): void
}

const duration = (seconds: number): string => {
  if (!Number.isFinite(seconds)) return '?'
  const s = Math.ceil(seconds)
  return s < 60 ? `${s} s` : `${Math.floor(s / 60)} min ${s % 60} s`
}

/** A bar on a terminal, redrawn ten times a second; elsewhere a line every five seconds. */
export const startProgress = (
  stderr: Output,
  options: { label: string; total: number | undefined; quiet: boolean; now: () => Date },
): Progress => {
  if (options.quiet) return { advance: () => undefined, end: () => undefined }
  const { label, total, now } = options
  const onTerminal = stderr.isTTY === true
  const interval = onTerminal ? 100 : 5000
  const started = now().getTime()
  let last = onTerminal ? 0 : started
  let done = 0
  let drawn = false

  const describe = (time: number): string => {
    const rate = done / Math.max(0.001, (time - started) / 1000)
    const count = `${done.toLocaleString('en-US')}${total === undefined ? '' : `/${total.toLocaleString('en-US')}`}`
    const eta = total === undefined ? '' : ` · ${duration((total - done) / rate)} left`
    return `${count} · ${Math.round(rate).toLocaleString('en-US')}/s${eta}`
  }
  const bar = (): string => {
    if (total === undefined || (stderr.columns ?? 80) < 70) return ''
    const filled = Math.round(24 * Math.min(1, done / Math.max(1, total)))
    return `[${'#'.repeat(filled)}${'.'.repeat(24 - filled)}] `
  }
  return {
    advance: (n) => {
      done += n
      const time = now().getTime()
      if (time - last < interval) return
      last = time
      drawn = onTerminal
      const line = `${label} ${onTerminal ? bar() : ''}${describe(time)}`
      stderr.write(onTerminal ? `\r\x1b[2K${line.slice(0, (stderr.columns ?? 80) - 1)}` : `${line}\n`)
    },
    end: () => {
      if (drawn) stderr.write('\r\x1b[2K')
      drawn = false
    },
  }
}
