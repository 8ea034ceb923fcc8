import { isAdminAddress, isDaemonUrl } from '../../client/address.ts'
import { defineCommand } from '../../command/define.ts'
import { argument, flag, text } from '../../command/options.ts'
import { readConfigFile, writeConfigFile } from '../../config-file.ts'
import { UsageError } from '../../errors.ts'

export const create = defineCommand({
  name: 'create',
  summary: 'Save the address of a daemon under a name',
  description:
    'Save the address of a daemon under a name. Changes through a protected context ask for its ' +
    'name first; scripts pass it with --confirm NAME.',
  examples: [
    'context create prod --url https://tap.example.com --protected',
    'context create local --url http://127.0.0.1:8484 --use',
  ],
  args: { name: argument('name', 'The name') },
  options: {
    daemon: text('--daemon <url>', 'The address of the daemon, as --url'),
    adminUrl: text(
      '--admin-url <url>',
      'The address of administration, if it is different: http://… or unix:/path',
    ),
    protected: flag('--protected', 'Ask for the name of the context before changes'),
    use: flag('--use', 'Make it the current context (the first one always is)'),
  },
  run: async (ctx, { args, options }) => {
    const { name } = args
    if (!/^[A-Za-z0-9._-]{1,64}$/.test(name))
      throw new UsageError('A name may have only letters, digits, dots, dashes and underscores.')
    const file = readConfigFile(ctx.system)
    if (Object.hasOwn(file.contexts, name)) {
      throw new UsageError(
        `The context "${name}" already exists.`,
        `Remove it first: tapchip context remove ${name}`,
      )
    }
    const flag = options.daemon ?? ctx.flags.url
    const url = await ctx.prompts.text(flag, { flag: '--url', message: 'Address of the daemon' })
    if (!isDaemonUrl(url))
      throw new UsageError(
        `"${url}" is not the address of a daemon.`,
        'It looks like https://tap.example.com',
      )
    const { adminUrl, protected: isProtected } = options
    if (adminUrl !== undefined && !isAdminAddress(adminUrl))
      throw new UsageError(
        `--admin-url "${adminUrl}" is not an address of administration.`,
        'It looks like http://127.0.0.1:8485 or unix:/srv/tapchip/admin.sock',
      )
    await ctx.beforeChange(`Would save ${url} as the context "${name}"`)
    const current = options.use || file.current === undefined ? name : file.current
    const context = {
      url,
      ...(adminUrl === undefined ? {} : { adminUrl }),
      ...(isProtected ? { protected: true } : {}),
    }
    writeConfigFile(ctx.system, { current, contexts: { ...file.contexts, [name]: context } })
    await ctx.io.one({ name, ...context, protected: isProtected, current: current === name }, (it) => ({
      Name: it.name,
      Daemon: it.url,
      ...(adminUrl === undefined ? {} : { Administration: adminUrl }),
      Protected: it.protected,
      Current: it.current,
    }))
    if (current === name)
      ctx.io.note(
        `It is the current context${options.use ? '' : ', since it is the first'}: commands without --context go to ${url}.`,
      )
    ctx.io.hint(`Save a key for it: tapchip login --context ${name}`)
  },
})
