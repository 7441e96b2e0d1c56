/** Nest and TypeORM with @dataui/crud, as in its documentation. */
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
    // Every note has an author, whose columns are only needed by filters.
    join: { author: { required: true, select: false } },
  },
  // The response to a write is the saved entity, without a further SELECT.
  routes: { createOneBase: { returnShallow: true }, updateOneBase: { returnShallow: true } },
  // No field is hidden, so that records need not be transformed before they are serialized.
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
