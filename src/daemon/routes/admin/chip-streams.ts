import type { FastifyInstance } from 'fastify'
import type { Context } from '../../context.ts'

export function chipStreamRoutes(_app: FastifyInstance, _ctx: Context): void {}
