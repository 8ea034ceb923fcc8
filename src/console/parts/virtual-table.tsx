import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from '@tanstack/virtual-core'
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks'
import { Link } from '../router.tsx'

export interface Column<T> {
  readonly key: string
  readonly title: string
  readonly cell: (row: T) => ComponentChildren
  /** Share of the width; a number of pixels with `px`. */
  readonly width?: number | `${number}px`
  /** Shown where the table is at least this wide, in pixels. */
  readonly from?: number
  /** Shown where it is narrower than this. */
  readonly below?: number
  readonly align?: 'end'
}

interface TableProps<T> {
  readonly label: string
  readonly rows: readonly T[]
  readonly columns: readonly Column<T>[]
  readonly rowKey: (row: T) => string | number
  /** Where a row leads; its first cell is the link. */
  readonly rowTo?: (row: T) => string | undefined
  readonly rowHeight?: number
  /** Called near the end of the rows, to fetch more. */
  readonly onEnd?: (() => void) | undefined
  /** Called with the rows that are in the page. */
  readonly onView?: ((rows: readonly T[]) => void) | undefined
  /** The number of all rows, if more than are here. */
  readonly total?: number | undefined
  /** Fits its rows up to this height; else it fills the height that the screen leaves. */
  readonly maxHeight?: number
}

/** Rows of any number, of which those in view are in the page. Arrow keys lead from one to the next. */
export function VirtualTable<T>({
  label,
  rows,
  columns,
  rowKey,
  rowTo,
  rowHeight = 40,
  onEnd,
  onView,
  total,
  maxHeight,
}: TableProps<T>) {
  const scroller = useRef<HTMLDivElement>(null)
  const [, rerender] = useReducer((count: number, _: unknown) => count + 1, 0)
  const [width, setWidth] = useState(2000)
  const [focused, setFocused] = useState(0)
  // Where keys that are pressed before the row is drawn go on from.
  const target = useRef(0)
  const [virtualizer] = useState(
    () =>
      new Virtualizer<HTMLDivElement, HTMLTableRowElement>({
        count: rows.length,
        getScrollElement: () => scroller.current,
        estimateSize: () => rowHeight,
        overscan: 8,
        initialRect: { width: 1000, height: 600 },
        observeElementRect,
        observeElementOffset,
        scrollToFn: elementScroll,
        onChange: () => rerender(undefined),
      }),
  )
  virtualizer.setOptions({
    ...virtualizer.options,
    count: rows.length,
    estimateSize: () => rowHeight,
    getItemKey: (index) => {
      const row = rows[index]
      return row === undefined ? index : rowKey(row)
    },
  })
  useLayoutEffect(() => virtualizer._didMount(), [virtualizer])
  useLayoutEffect(() => virtualizer._willUpdate())
  useEffect(() => {
    const element = scroller.current
    if (!element) return
    const observer = new ResizeObserver(() => setWidth(element.clientWidth))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])

  const items = virtualizer.getVirtualItems()
  const last = items.at(-1)
  const isNearEnd = last !== undefined && last.index >= rows.length - 10
  // Once for each number of rows.
  useEffect(() => {
    if (isNearEnd) onEnd?.()
  }, [isNearEnd, rows.length])

  const firstKey = items[0]?.key
  const lastKey = last?.key
  // Rows are told apart by their keys, so the same ones are told once.
  useEffect(() => {
    onView?.(items.flatMap(({ index }) => rows[index] ?? []))
  }, [firstKey, lastKey, rows.length === 0])

  const shown = columns.filter(({ from = 0, below = Infinity }) => width >= from && width < below)
  const before = items[0]?.start ?? 0
  const after = Math.max(0, virtualizer.getTotalSize() - (last?.end ?? 0))

  const focusRow = (index: number) => {
    const to = Math.max(0, Math.min(rows.length - 1, index))
    target.current = to
    setFocused(to)
    virtualizer.scrollToIndex(to)
    const focusLink = () =>
      scroller.current
        ?.querySelector<HTMLElement>(`[data-index="${target.current}"] [data-row-link]`)
        ?.focus()
    // The row may be drawn by the scrolling alone.
    requestAnimationFrame(() => requestAnimationFrame(focusLink))
  }
  const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 400) / rowHeight) - 1)
  const steps: Readonly<Record<string, (now: number) => number>> = {
    ArrowDown: (now) => now + 1,
    ArrowUp: (now) => now - 1,
    PageDown: (now) => now + page,
    PageUp: (now) => now - page,
    Home: () => 0,
    End: () => rows.length - 1,
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = steps[event.key]
    if (!step || !(event.target instanceof HTMLElement) || !event.target.matches('[data-row-link]')) return
    event.preventDefault()
    focusRow(step(target.current))
  }

  // The row that Tab leads to is one that is in the page.
  const first = items[0]?.index ?? 0
  const tabStop = focused >= first && focused <= (last?.index ?? 0) ? focused : first
  return (
    <div
      class="table"
      ref={scroller}
      // Rows that lead nowhere hold no focus, and the keyboard has to scroll.
      {...(rowTo ? {} : { tabIndex: 0, role: 'group', 'aria-label': label })}
      style={maxHeight === undefined ? undefined : { maxHeight: `${maxHeight}px`, flex: 'none' }}
    >
      <table aria-label={label} aria-rowcount={(total ?? rows.length) + 1} onKeyDown={onKeyDown}>
        <colgroup>
          {shown.map(({ key, width: share = 1 }) => (
            <col key={key} style={{ width: widthOf(share, shown) }} />
          ))}
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            {shown.map(({ key, title, align }) => (
              <th key={key} scope="col" data-align={align}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {before > 0 && <Spacer height={before} columns={shown.length} />}
          {items.map(({ index }) => {
            const row = rows[index]
            if (row === undefined) return null
            const to = rowTo?.(row)
            return (
              <tr
                key={rowKey(row)}
                aria-rowindex={index + 2}
                data-index={index}
                style={{ height: `${rowHeight}px` }}
              >
                {shown.map(({ key, cell, align }, at) => (
                  <td key={key} data-align={align}>
                    {at === 0 && to !== undefined ? (
                      <Link
                        to={to}
                        data-row-link=""
                        tabIndex={index === tabStop ? 0 : -1}
                        onFocus={() => {
                          target.current = index
                          setFocused(index)
                        }}
                      >
                        {cell(row)}
                      </Link>
                    ) : (
                      cell(row)
                    )}
                  </td>
                ))}
              </tr>
            )
          })}
          {after > 0 && <Spacer height={after} columns={shown.length} />}
        </tbody>
      </table>
    </div>
  )
}

const Spacer = ({ height, columns }: { readonly height: number; readonly columns: number }) => (
  <tr class="spacer" style={{ height: `${height}px` }}>
    <td colSpan={columns} />
  </tr>
)

function widthOf<T>(share: number | `${number}px`, columns: readonly Column<T>[]): string {
  if (typeof share === 'string') return share
  const shares = columns.map(({ width = 1 }) => (typeof width === 'number' ? width : 0))
  const all = shares.reduce((sum, one) => sum + one, 0)
  const fixed = columns.flatMap(({ width }) => (typeof width === 'string' ? [width] : []))
  const rest = fixed.length === 0 ? '100%' : `(100% - ${fixed.join(' - ')})`
  return `calc(${rest} * ${share / all})`
}
