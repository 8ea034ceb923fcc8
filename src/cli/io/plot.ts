import { isCi, type System } from '../system.ts'

export interface PlotArea {
  /** In characters. */
  readonly width: number
  /** False where the terminal may not show block characters. */
  readonly unicode: boolean
}

/** @returns undefined if standard output is not a terminal that people look at */
export const plotArea = ({ stdout, env }: Pick<System, 'stdout' | 'env'>): PlotArea | undefined => {
  if (stdout.isTTY !== true || env.TERM === 'dumb' || isCi({ env })) return undefined
  return { width: stdout.columns || 80, unicode: hasUnicode(env) }
}

/** False where a terminal may not show block characters. */
export const hasUnicode = (env: System['env']): boolean => {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || ''
  return /utf-?8/i.test(locale) && env.TERM !== 'linux'
}

/** One character per value, and fewer where they do not fit: then each stands for the sum of several. */
export const sparkline = (values: readonly number[], { width, unicode }: PlotArea): string => {
  const levels = unicode ? '▁▂▃▄▅▆▇█' : '.:-=+*#@'
  const each = Math.ceil(values.length / Math.max(1, width))
  const sums: number[] = []
  for (let at = 0; at < values.length; at += each)
    sums.push(values.slice(at, at + each).reduce((sum, value) => sum + value, 0))
  const max = Math.max(...sums)
  // Zero must look different from a small value.
  const levelOf = (sum: number) =>
    sum === 0 ? ' ' : levels[Math.min(levels.length - 1, Math.floor((sum / max) * levels.length))]
  return sums.map(levelOf).join('')
}

/** @param max the value of the longest bar */
export const bar = (value: number, max: number, { width, unicode }: PlotArea): string => {
  if (value === 0 || width < 1) return ''
  const length = (value / max) * width
  if (!unicode) return '#'.repeat(Math.max(1, Math.round(length)))
  const eighths = Math.max(1, Math.round(length * 8))
  return '█'.repeat(Math.floor(eighths / 8)) + (['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'][eighths % 8] ?? '')
}
