import { revokeCommand } from '../credentials.ts'

export const revoke = revokeCommand({
  noun: 'API key',
  list: 'api-keys list',
  summary: 'Revoke an API key, which stops working at once',
  examples: ['api-keys revoke 3', 'api-keys revoke 3 --yes'],
  hint: 'Create a new one: tapchip api-keys create --name NAME',
  revoke: (ctx, id) => ctx.call('DELETE /admin/api-keys/:id', { params: { id } }),
})
