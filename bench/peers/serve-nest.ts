import 'reflect-metadata'
import type { Type, ValidationPipe } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import { serve } from '../serve'

/** Serves a module of Nest on Fastify, the faster of its two platforms. */
export function serveNest(module: Type, ...pipes: readonly ValidationPipe[]): void {
  serve(async () => {
    const app = await NestFactory.create<NestFastifyApplication>(module, new FastifyAdapter(), { logger: false })
    app.useGlobalPipes(...pipes)
    await app.listen(0, '127.0.0.1')
    return app.getHttpServer()
  })
}
