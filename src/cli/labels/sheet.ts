import { UsageError } from '../errors.ts'

/** All in millimetres. */
export interface Sheet {
  readonly page: { readonly width: number; readonly height: number }
  readonly label: { readonly width: number; readonly height: number }
  /** The upper left corners of the labels of a page, in the order of reading. */
  readonly places: readonly { readonly x: number; readonly y: number }[]
}

const columns = 3
const rows = 7
const gap = 2.5
const label = { width: 63.5, height: 38.1 }
const page = { width: 210, height: 297 }
const marginLeft = (page.width - columns * label.width - (columns - 1) * gap) / 2
const top = (page.height - rows * label.height) / 2

/** Avery L7160 and those that are made like it: no label lies on the margin that printers cannot reach. */
export const a4: Sheet = {
  page,
  label,
  places: Array.from({ length: columns * rows }, (_, i) => ({
    x: marginLeft + (i % columns) * (label.width + gap),
    y: top + Math.floor(i / columns) * label.height,
  })),
}

const rollBounds = { width: [30, 300], height: [15, 300] } as const
const defaultRoll = { width: 62, height: 29 }

/** A label a page. @param size as in 62x29 @throws UsageError */
export const roll = (size: string | undefined): Sheet => {
  const rollSize = size === undefined ? defaultRoll : readSize(size)
  return { page: rollSize, label: rollSize, places: [{ x: 0, y: 0 }] }
}

const readSize = (text: string): Sheet['label'] => {
  const [, width, height] = /^(\d{1,3}(?:\.\d{1,2})?)x(\d{1,3}(?:\.\d{1,2})?)$/i.exec(text.trim()) ?? []
  const size = { width: Number(width), height: Number(height) }
  const isWithin = (side: keyof typeof rollBounds) => {
    const [min, max] = rollBounds[side]
    return size[side] >= min && size[side] <= max
  }
  if (isWithin('width') && isWithin('height')) return size
  const { width: wide, height: high } = rollBounds
  throw new UsageError(
    `--size must be the width and the height of a label in millimetres, as in 62x29, not "${text}".`,
    `A label is ${wide.join(' to ')} mm wide, and ${high.join(' to ')} mm high.`,
  )
}
