import { statSync } from 'node:fs'
import type { Config } from './config.ts'

/** What an operator should know of how the daemon was started, for the log and for `tapchip doctor`. */
export const startWarnings = (config: Pick<Config, 'warnings' | 'keystore'>): string[] => [
  ...config.warnings,
  ...(config.keystore === undefined ? [] : openToOthers(config.keystore.passwordFile)),
]

/** With the keystore, which gets copied and backed up, it is all that the keys are. */
function openToOthers(passwordFile: string): string[] {
  const mode = statSync(passwordFile, { throwIfNoEntry: false })?.mode ?? 0
  if ((mode & 0o077) === 0) return []
  return [
    `The keystore's password file ${passwordFile} can be read by others (mode ${(mode & 0o777).toString(8)}). Make it the daemon's alone: chmod 600 ${passwordFile}`,
  ]
}
