import * as z from 'zod'
import { endpoint } from './endpoint.ts'

export const team = {
  'GET /team': endpoint({
    id: 'getTeam',
    part: 'beyond',
    summary: 'Show the team of the API key',
    auth: 'api-key',
    scope: 'read',
    response: () =>
      z.object({
        id: z.number(),
        name: z.string(),
        auditHead: z.string().describe('the hash of the last change that the daemon recorded'),
      }),
  }),
} as const
