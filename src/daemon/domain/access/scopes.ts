/** What an API key or an admin token may do. `all` is every one of them. */
export type Scope = 'read' | 'edit' | 'provision' | 'transfer' | 'keys' | 'all'

const known: readonly Scope[] = ['read', 'edit', 'provision', 'transfer', 'keys', 'all']

/** @param json as stored; scopes of a newer program that this one does not know are left out */
export function parseScopes(json: string): Scope[] {
  const list: unknown = JSON.parse(json)
  return known.filter((scope) => Array.isArray(list) && list.includes(scope))
}

/** Any scope lets its holder read: who may edit may see what is edited. */
export const permits = (held: readonly Scope[], wanted: Scope): boolean =>
  held.includes('all') || held.includes(wanted) || (wanted === 'read' && held.length > 0)
