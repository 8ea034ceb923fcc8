import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { configDir, type SystemPaths, stateDir } from './system.ts'

/** A system service starts with the machine and has a user of its own; a user's runs as that user. */
export type Scope = 'system' | 'user'

export const unitName = 'tapchip.service'

export interface Service {
  readonly scope: Scope
  readonly unitPath: string
  /** Its environment, with its secrets. */
  readonly envFile: string
  /** Undefined before its first start, and where this user may not look. */
  readonly dataDir: string | undefined
}

/** The place of configuration is also that of user units: $XDG_CONFIG_HOME. */
const userConfig = (system: SystemPaths): string => join(configDir(system), '..')

export const placesOf = (
  system: SystemPaths,
  scope: Scope,
): Pick<Service, 'unitPath' | 'envFile'> & { readonly stateDirs: readonly string[] } =>
  scope === 'system'
    ? {
        unitPath: `/etc/systemd/system/${unitName}`,
        envFile: '/etc/tapchip/tapchipd.env',
        stateDirs: ['/var/lib/tapchip'],
      }
    : {
        unitPath: join(userConfig(system), 'systemd/user', unitName),
        envFile: join(configDir(system), 'tapchipd.env'),
        // systemd before version 254 keeps the state of user services beside their configuration.
        stateDirs: [`${stateDir(system)}d`, `${configDir(system)}d`],
      }

/** Its state is in a directory of its own: the user's `tapchip` keeps boxes of chips in the other one. */
export const stateName = (scope: Scope): string => (scope === 'system' ? 'tapchip' : 'tapchipd')

export const readUnit = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

export const installedService = (system: SystemPaths, scope: Scope): Service | undefined => {
  const { stateDirs, ...places } = placesOf(system, scope)
  const unit = readUnit(places.unitPath)
  if (unit === undefined) return undefined
  // A section that systemd ignores; see unit.ts.
  const chosen = /^\[X-Tapchip\]\nDataDir=(.+)$/m.exec(unit)?.[1]
  const dataDir = chosen ?? stateDirs.find((dir) => existsSync(join(dir, 'daemon.lock')))
  return { scope, ...places, dataDir }
}

/** The user's own service comes first. */
export const installedServices = (system: SystemPaths): Service[] =>
  (['user', 'system'] as const).flatMap((scope) => installedService(system, scope) ?? [])

/** As people type it. */
export const systemctl = ({ scope }: Pick<Service, 'scope'>): string =>
  scope === 'user' ? 'systemctl --user' : 'systemctl'
