/** Nest and TypeORM with nestjs-paginate for lists, as in its documentation. */
import {
  Body,
  Controller,
  Get,
  Injectable,
  Module,
  NotFoundException,
  Param,
  ParseIntPipe,
  Patch,
  Post,
  ValidationPipe,
} from '@nestjs/common'
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm'
import {
  FilterOperator,
  Paginate,
  type PaginateConfig,
  type Paginated,
  type PaginateQuery,
  PaginationType,
  paginate,
} from 'nestjs-paginate'
import type { Repository } from 'typeorm'
import { CreateNote, Note, typeOrmOptions, UpdateNote } from './notes'
import { serveNest } from './serve-nest'

const config: PaginateConfig<Note> = {
  sortableColumns: ['id', 'score'],
  defaultSortBy: [['id', 'ASC']],
  filterableColumns: {
    published: [FilterOperator.EQ],
    score: [FilterOperator.LTE],
    // The filter is a subquery, so that the relation need not be loaded.
    'author.username': [FilterOperator.EQ],
  },
  maxLimit: 500,
  // Without loaded relations, one row is one record.
  paginationType: PaginationType.LIMIT_AND_OFFSET,
}

/** The other requests are as in `../servers/typeorm-experts`. */
@Injectable()
class NotesService {
  constructor(@InjectRepository(Note) private readonly notes: Repository<Note>) {}

  findAll(query: PaginateQuery): Promise<Paginated<Note>> {
    return paginate(query, this.notes, config)
  }

  async findOne(id: number): Promise<Note> {
    const note = await this.notes.findOneBy({ id })
    if (note === null) throw new NotFoundException()
    return note
  }

  async create(values: CreateNote): Promise<Note> {
    const note = this.notes.create(values)
    await this.notes.insert(note)
    return note
  }

  async update(id: number, values: UpdateNote): Promise<Note> {
    await this.notes.update(id, values)
    return this.findOne(id)
  }
}

@Controller('notes')
class NotesController {
  constructor(private readonly service: NotesService) {}

  @Get()
  findAll(@Paginate() query: PaginateQuery): Promise<Paginated<Note>> {
    return this.service.findAll(query)
  }

  @Get(':id')
  findOne(@Param('id', ParseIntPipe) id: number): Promise<Note> {
    return this.service.findOne(id)
  }

  @Post()
  create(@Body() values: CreateNote): Promise<Note> {
    return this.service.create(values)
  }

  @Patch(':id')
  update(@Param('id', ParseIntPipe) id: number, @Body() values: UpdateNote): Promise<Note> {
    return this.service.update(id, values)
  }
}

@Module({
  imports: [TypeOrmModule.forRoot(typeOrmOptions), TypeOrmModule.forFeature([Note])],
  providers: [NotesService],
  controllers: [NotesController],
})
class SiteModule {}

serveNest(SiteModule, new ValidationPipe({ whitelist: true }))
