import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'

export interface Place {
  readonly path: string
  readonly query: URLSearchParams
}

export interface ScreenProps {
  /** In its path: a UID, an ID. */
  readonly id: string
}

const placeNow = (): Place => ({ path: location.pathname, query: new URLSearchParams(location.search) })

const listeners = new Set<(place: Place) => void>()
const tell = () => {
  const place = placeNow()
  for (const listener of listeners) listener(place)
}
addEventListener('popstate', tell)

/** Every address keeps the chosen team. */
const kept = ['team'] as const

/** An address of the console, with the chosen team. */
export function hrefTo(path: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  const search = new URLSearchParams()
  const now = new URLSearchParams(location.search)
  for (const name of kept) {
    const value = now.get(name)
    if (value !== null) search.set(name, value)
  }
  for (const [name, value] of Object.entries(query))
    if (value === undefined || value === '') search.delete(name)
    else search.set(name, value)
  return `${path}${search.size === 0 ? '' : `?${search}`}`
}

/** @param how `replace`: the browser's Back leads past it, as for a filter that is being typed */
export function navigate(href: string, how: 'push' | 'replace' = 'push'): void {
  if (how === 'push') history.pushState(null, '', href)
  else history.replaceState(null, '', href)
  tell()
}

export function usePlace(): Place {
  const [place, setPlace] = useState(placeNow)
  useEffect(() => {
    listeners.add(setPlace)
    return () => void listeners.delete(setPlace)
  }, [])
  return place
}

/** A value in the address, so that it can be sent to somebody. */
export function useQuery(name: string): [string, (value: string) => void] {
  const { path, query } = usePlace()
  const set = (value: string) => {
    const all = Object.fromEntries(query)
    navigate(hrefTo(path, { ...all, [name]: value }), 'replace')
  }
  return [query.get(name) ?? '', set]
}

/** The team that is shown; empty: all that the credential sees. */
export const useTeam = (): string => usePlace().query.get('team') ?? ''

interface LinkProps {
  readonly to: string
  readonly children: ComponentChildren
  readonly class?: string | undefined
  readonly tabIndex?: number
  readonly onFocus?: () => void
  readonly 'aria-current'?: 'page' | undefined
  readonly 'data-row-link'?: ''
}

/** Leads to another screen without loading the page again. */
export function Link({ to, children, ...more }: LinkProps) {
  const href = hrefTo(to)
  const onClick = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    navigate(href)
  }
  return (
    <a {...more} href={href} onClick={onClick}>
      {children}
    </a>
  )
}
