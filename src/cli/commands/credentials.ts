import { text } from '../command/options.ts'

interface Credential {
  readonly expiresAt: string | null
  readonly revokedAt: string | null
}

export const credentialState = ({ expiresAt, revokedAt }: Credential, now: Date): string => {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && Date.parse(expiresAt) <= now.getTime() ? 'expired' : 'good'
}

export const expires = text('--expires <date>', 'When it ends, a date or an ISO 8601 time (default: never)')
