import { moment } from '../command/moment.ts'

interface Credential {
  readonly expiresAt: string | null
  readonly revokedAt: string | null
}

export const credentialState = ({ expiresAt, revokedAt }: Credential, now: Date): string => {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && Date.parse(expiresAt) <= now.getTime() ? 'expired' : 'good'
}

export const expires = moment('--expires <when>', 'When it ends (default: never)', 'ahead')
