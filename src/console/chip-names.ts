import { useEffect, useState } from 'preact/hooks'
import { uidOnWire } from '../nfc/uid.ts'
import { type ElementOf, read } from './api.ts'
import { may } from './session.ts'

export interface ChipName {
  readonly uid: string
  readonly team: string
  readonly label: string | null
  readonly chipGroup: string
  readonly item: string | null
  readonly redirectUrl: string | null
}

type Item = ElementOf<'GET /admin/items'>

const maxAtOnce = 100
const maxKept = 5000
/** Labels and redirect URLs change; what is shown may be so old. */
const freshMs = 60_000
const collectMs = 150

const chips = new Map<string, { readonly chip: ChipName | null; readonly readAt: number }>()
const items = new Map<string, ReadonlyMap<string, Item>>()
const wanted = new Set<string>()
const listeners = new Set<() => void>()
let isScheduled = false

async function readWanted(): Promise<void> {
  const uids = [...wanted].slice(0, maxAtOnce)
  for (const uid of uids) wanted.delete(uid)
  const found = await read('GET /admin/chips', { query: { uid: uids.map(uidOnWire), limit: maxAtOnce } })
  const known = new Map(found.chips.map((chip) => [chip.uid, chip]))
  const readAt = Date.now()
  for (const uid of uids) {
    chips.delete(uid)
    chips.set(uid, { chip: known.get(uid) ?? null, readAt })
  }
  for (const [oldest] of chips) {
    if (chips.size <= maxKept) break
    chips.delete(oldest)
  }
  for (const team of new Set(found.chips.flatMap(({ team, item }) => (item === null ? [] : [team]))))
    if (!items.has(team)) {
      const list = await read('GET /admin/items', { query: { team } })
      items.set(team, new Map(list.map((item) => [item.id, item])))
    }
  for (const listener of listeners) listener()
}

function schedule(): void {
  if (isScheduled) return
  isScheduled = true
  setTimeout(() => {
    isScheduled = false
    readWanted()
      // The daemon is away, say: asked again with the next that is shown.
      .catch(() => undefined)
      .finally(() => wanted.size > 0 && schedule())
  }, collectMs)
}

/** What chips are called, of those that are shown; they are read a hundred at a time. */
export function useChipNames(uids: readonly string[]): (uid: string) => ChipName | undefined {
  const [, rerender] = useState(0)
  useEffect(() => {
    const listener = () => rerender((count) => count + 1)
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }, [])
  const asText = uids.join()
  useEffect(() => {
    if (!may('GET /admin/chips')) return
    const old = Date.now() - freshMs
    for (const uid of asText === '' ? [] : asText.split(','))
      if ((chips.get(uid)?.readAt ?? 0) < old) wanted.add(uid)
    if (wanted.size > 0) schedule()
  }, [asText])
  return (uid) => chips.get(uid)?.chip ?? undefined
}

/** @returns an item that `useChipNames` has met */
export const itemOf = ({ team, item }: Pick<ChipName, 'team' | 'item'>): Item | undefined =>
  item === null ? undefined : items.get(team)?.get(item)
