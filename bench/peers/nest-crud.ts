/** Nest and TypeORM, with @dataui/crud for everything, as its documentation has it. */

import { Crud, type CrudController } from '@dataui/crud'
import { TypeOrmCrudService } from '@dataui/crud-typeorm'
import { Controller, Injectable, Module } from '@nestjs/common'
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm'
import type { Repository } from 'typeorm'
import { CreateNote, Note, typeOrmOptions, UpdateNote } from './notes'
import { serveNest } from './serve-nest'

@Injectable()
class NotesService extends TypeOrmCrudService<Note> {
  constructor(@InjectRepository(Note) notes: Repository<Note>) {
    super(notes)
  }
}

@Crud({
  model: { type: Note },
  dto: { create: CreateNote, update: UpdateNote },
  validation: { whitelist: true },
  query: {
    maxLimit: 500,
    sort: [{ field: 'id', order: 'ASC' }],
    // Every note has an author, and only its name is filtered by.
    join: { author: { required: true, select: false } },
  },
  // What was written is answered as it was saved, not read once more.
  routes: { createOneBase: { returnShallow: true }, updateOneBase: { returnShallow: true } },
  // Records have nothing to hide: they need not be copied before they are JSON.
  serialize: { get: false, getMany: false, create: false, update: false },
})
@Controller('notes')
class NotesController implements CrudController<Note> {
  constructor(readonly service: NotesService) {}
}

@Module({
  imports: [TypeOrmModule.forRoot(typeOrmOptions), TypeOrmModule.forFeature([Note])],
  providers: [NotesService],
  controllers: [NotesController],
})
class SiteModule {}

serveNest(SiteModule)
