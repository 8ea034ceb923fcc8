import * as z from 'zod'
import type { PoapConfig } from '../badges/poap-deps.ts'
import { filled, httpUrl, wholeNumber } from './fields.ts'
import { ConfigProblem } from './problem.ts'

export interface BadgesConfig {
  /** For new badge events; those of the embedded provider are served either way. */
  readonly provider: 'embedded' | 'poap'
  /** For the embedded provider: at once, or by an operator's command. */
  readonly approval: 'auto' | 'manual'
  readonly poap: PoapConfig | undefined
}

export const badgeSettings = {
  badgeProvider: z.enum(['embedded', 'poap'], 'must be embedded or poap').default('embedded'),
  badgeApproval: z.enum(['auto', 'manual'], 'must be auto or manual').default('auto'),
  poapUrl: httpUrl.default('https://api.poap.tech'),
  poapAuthUrl: httpUrl.default('https://auth.accounts.poap.xyz/oauth/token'),
  poapApiKey: filled.optional(),
  poapClientId: filled.optional(),
  poapClientSecret: filled.optional(),
  poapAudience: filled.default('https://api.poap.tech'),
  poapEmail: z
    .string()
    .regex(/^[^\s@]+@[^\s@]+\.[^\s@]+$/, 'must be an e-mail address')
    .max(256, 'must not be longer than 256 characters')
    .optional(),
  poapTimeoutMs: wholeNumber(100, 120_000).default(10_000),
  poapPollSeconds: wholeNumber(1, 86_400).default(60),
}

export const badgeSecrets = ['poapApiKey', 'poapClientSecret'] as const

type Settings = z.output<z.ZodObject<typeof badgeSettings>>

export function badgesFrom(settings: Settings): BadgesConfig {
  const { badgeProvider: provider, badgeApproval: approval } = settings
  const { poapApiKey: apiKey, poapClientId: clientId, poapClientSecret: clientSecret } = settings
  const { poapEmail: email } = settings
  const needed = {
    TAPCHIP_POAP_API_KEY: apiKey,
    TAPCHIP_POAP_CLIENT_ID: clientId,
    TAPCHIP_POAP_CLIENT_SECRET: clientSecret,
    TAPCHIP_POAP_EMAIL: email,
  }
  const missing = Object.entries(needed).flatMap(([name, value]) => (value === undefined ? [name] : []))
  if (provider === 'poap' && missing.length > 0)
    throw new ConfigProblem(`badgeProvider (TAPCHIP_BADGE_PROVIDER) is poap: set ${missing.join(', ')} too`)
  // With an account, events already created at POAP continue while new ones are embedded.
  if (!apiKey || !clientId || !clientSecret || !email) return { provider, approval, poap: undefined }
  return {
    provider,
    approval,
    poap: {
      url: settings.poapUrl.replace(/\/+$/, ''),
      authUrl: settings.poapAuthUrl,
      apiKey,
      clientId,
      clientSecret,
      audience: settings.poapAudience,
      email,
      timeoutMs: settings.poapTimeoutMs,
      pollSeconds: settings.poapPollSeconds,
    },
  }
}
