import { argument } from '../../command/options.ts'
import type { ConfigFile } from '../../config-file.ts'
import { UsageError } from '../../errors.ts'

export const contextArgument = { name: argument('name', 'The name of the context', 'context') }

export const mustExist = (file: ConfigFile, name: string): void => {
  if (Object.hasOwn(file.contexts, name)) return
  throw new UsageError(`There is no context "${name}".`, 'Those there are: tapchip context list')
}
