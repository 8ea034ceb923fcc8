import * as z from 'zod'

/** The shape of every error answer. `code` is for programs, `message` says what to do. */
export const errorOnWire = z.object({
  statusCode: z.number(),
  error: z.string(),
  message: z.string(),
  code: z.string(),
  requestId: z.string(),
  success: z.literal(false).optional(),
  errors: z.record(z.string(), z.string()).optional(),
})
