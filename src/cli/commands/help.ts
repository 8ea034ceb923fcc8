import type { Command } from 'commander'
import { defineCommand, type Verb } from '../command/define.ts'
import { optionalArgument } from '../command/options.ts'
import { UsageError } from '../errors.ts'
import type { Surroundings } from '../surroundings.ts'
import { topics } from './topics.ts'

const names = Object.keys(topics)

/** @param createProgram a fresh command tree */
export const helpBy = (createProgram: (at: Surroundings) => Command): Verb =>
  defineCommand({
    name: 'help',
    summary: `Show help: of a command, or on ${names.join(', ')}`,
    examples: ['help chips edit', 'help exit-codes'],
    args: {
      command: optionalArgument('command', 'A command, or a topic', names),
      verb: optionalArgument('verb', 'Its verb'),
    },
    run: async (ctx, { args }) => {
      const topic = args.command === undefined ? undefined : topics[args.command]
      if (topic !== undefined) {
        await ctx.io.raw(topic)
        return
      }
      // The command's own help, as --help shows it: one path, one text.
      const program = createProgram(ctx.at)
      const words = [args.command, args.verb].flatMap((word) => word ?? [])
      const known =
        args.command === undefined || program.commands.some((command) => command.name() === args.command)
      if (!known)
        throw new UsageError(
          `There is no command or topic "${args.command}".`,
          `Topics: ${names.join(', ')}. Commands: tapchip --help`,
        )
      await program.parseAsync([...words, '--help'], { from: 'user' })
    },
  })
