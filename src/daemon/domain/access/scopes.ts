export type Scope = 'read' | 'edit' | 'provision' | 'transfer' | 'keys' | 'approve' | 'all'

const known: readonly Scope[] = ['read', 'edit', 'provision', 'transfer', 'keys', 'approve', 'all']

/** @param json as stored; unknown scopes from newer versions are dropped */
export function parseScopes(json: string): Scope[] {
  const list: unknown = JSON.parse(json)
  return known.filter((scope) => Array.isArray(list) && list.includes(scope))
}

/** Every scope includes `read`: editors may see what they edit. */
export const permits = (held: readonly Scope[], required: Scope): boolean =>
  held.includes('all') || held.includes(required) || (required === 'read' && held.length > 0)
