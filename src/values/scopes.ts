/** Of API keys and admin tokens. `all` includes every other. */
export const scopes = ['read', 'edit', 'provision', 'transfer', 'keys', 'approve', 'all'] as const
export type Scope = (typeof scopes)[number]

/** @param json as stored; unknown scopes from newer versions are dropped */
export function parseScopes(json: string): Scope[] {
  const list: unknown = JSON.parse(json)
  return scopes.filter((scope) => Array.isArray(list) && list.includes(scope))
}

/** Every scope includes `read`: editors may see what they edit. */
export const permits = (held: readonly Scope[], required: Scope): boolean =>
  held.includes('all') || held.includes(required) || (required === 'read' && held.length > 0)
