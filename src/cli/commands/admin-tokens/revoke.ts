import { revokeCommand } from '../credentials.ts'

export const revoke = revokeCommand({
  noun: 'admin token',
  list: 'admin-tokens list',
  summary: 'Revoke an admin token, which stops working at once',
  examples: ['admin-tokens revoke 2'],
  hint: 'Create a new one: tapchip admin-tokens create --name NAME --scopes SCOPES',
  revoke: (ctx, id) => ctx.call('DELETE /admin/admin-tokens/:id', { params: { id } }),
})
