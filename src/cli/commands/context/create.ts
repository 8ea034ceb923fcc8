import { isAdminAddress, isDaemonUrl } from '../../client/address.ts'
import { defineCommand } from '../../command/define.ts'
import { argument, flag, text } from '../../command/options.ts'
import { readConfigFile, writeConfigFile } from '../../config-file.ts'
import { UsageError } from '../../errors.ts'

export const create = defineCommand({
  name: 'create',
  summary: 'Keep the address of a daemon under a name',
  description:
    'Keep the address of a daemon under a name. What changes something through a protected context asks for that ' +
    'name first; a script gives it with --confirm NAME.',
  examples: [
    'context create prod --url https://tap.example.com --protected',
    'context create local --url http://127.0.0.1:8484 --use',
  ],
  args: { name: argument('name', 'The name') },
  options: {
    daemon: text('--daemon <url>', 'The address of the daemon, as --url'),
    adminUrl: text('--admin-url <url>', 'Where it is administered, if elsewhere: http://… or unix:/path'),
    protected: flag('--protected', 'What changes something there asks for the name of the context'),
    use: flag('--use', 'Make it the current one (the first one is)'),
  },
  run: async (ctx, { args, options }) => {
    const { name } = args
    if (!/^[A-Za-z0-9._-]{1,64}$/.test(name))
      throw new UsageError('A name has letters, digits, dots, dashes and underscores.')
    const file = readConfigFile(ctx.system)
    if (Object.hasOwn(file.contexts, name)) {
      throw new UsageError(
        `There is a context "${name}" already.`,
        `Remove it first: tapchip context remove ${name}`,
      )
    }
    const given = options.daemon ?? ctx.flags.url
    const url = await ctx.prompts.text(given, { flag: '--url', message: 'Address of the daemon' })
    if (!isDaemonUrl(url))
      throw new UsageError(
        `"${url}" is not the address of a daemon.`,
        'It looks like https://tap.example.com',
      )
    const { adminUrl, protected: isProtected } = options
    if (adminUrl !== undefined && !isAdminAddress(adminUrl))
      throw new UsageError(
        `--admin-url "${adminUrl}" is not the address of an administration.`,
        'It looks like http://127.0.0.1:8485 or unix:/srv/tapchip/admin.sock',
      )
    await ctx.beforeChange(`Would keep ${url} as the context "${name}"`)
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
        `It is the current context${options.use ? '' : ', being the first'}: commands that name none go to ${url}.`,
      )
    ctx.io.hint(`Keep a key with it: tapchip login --context ${name}`)
  },
})
