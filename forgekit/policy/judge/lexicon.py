"""The vocabulary of the judge by rules: which words mean one thing, and which things exclude each other.

A *group* is words that name one thing. A *slot* is a question with several answers, of which a decision
takes one; its *poles* are the answers, and words of one pole agree. A slot of kind `opposite` has poles
that exclude each other by meaning (on, off); of kind `choice`, poles of which one is usually chosen for one
purpose (PostgreSQL, MongoDB), so that two of them conflict in one and the same frame only.

The tables are general vocabulary of software and project work, teaching, writing, money and health; they
are plain text so that a line is easy to add. Words are written in any form, for the reader
stems them; behind `=` a word counts in this very form alone. `!` behind a slot's name: naming an answer
already says what is spoken about.
"""

from __future__ import annotations

from forgekit.policy.judge.grammar import word_set

GROUPS = """
database; db; datastore; data store; database server
postgres; postgresql; pg; psql
javascript; js; ecmascript
typescript; ts
golang; go language
kubernetes; k8s
repository; repo; codebase
documentation; docs; doc
configuration; config; preference
authenticate; authentication; auth; login; log in; sign in; signin; logon
authorise; authorize; authorization; permission; access control
password; passphrase
credential; secret
telemetry; analytics; usage data; tracking; usage metric
price; pricing; rate card
log; logging; logs
retention; retain; kept for; keep for
embed; embedding; vectorise; vectorize; vectorisation; vector
replica; instance; copy
test; testing; suite
mock; mocking; stub; fake
student; learner; pupil; participant
homework; assignment; coursework
exam; examination; final test
grade; mark; graded; score
lesson; class; lecture
course; curriculum; syllabus
chapter; chapters
narrator; narration; narrate
protagonist; main character; hero; heroine
reader; audience
id; identifier; key; primary key
endpoint; api endpoint; route
request; call
message; event
queue; broker; message broker; message queue
service; microservice
deploy; deployment; rollout; roll out; ship; release; go live
production; prod
staging; preprod
dev; development
client; consumer
user; account; account holder
member; membership
customer; buyer; shopper
admin; administrator; operator; privileged account
cache; caching; cached
backup; back up; snapshot
encrypt; encryption; encrypted
email; e-mail; mail
picture; image; photo
colour; color
timeout; time limit; deadline; time out
retry; retries; reattempt
interval; frequency; cadence
limit; cap; quota; maximum; ceiling
review; approval; approve; sign off; sign-off; reviewed
merge; merged
commit; commits
branch; branches
pull request; pr; merge request
coverage; test coverage; line coverage
standup; stand-up; daily standup
salary; pay; wage; compensation
saving; savings; reserve; buffer; emergency fund; cash buffer
money; amount; currency
invoice; bill
spending; expense; expenditure; spend
fee; dues; charge; subscription
tax; vat
loan; debt; mortgage
theme; mode; appearance
language; programming language; implementation language
licence; license; licensing
website; site; web page; webpage
phone; mobile; smartphone
format; formatting
indent; indentation
timestamp; time stamp; datetime
timezone; time zone
week; weekly
workout; training; exercise; strength session
run; running; jog
sleep; sleeping
meal; food; diet; eat
sugar; sweets
alcohol; wine; beer
coffee; caffeine
holiday; vacation; leave
model; llm; language model
dataset; data set; training data
telemetry event; usage event
session; sessions
file; files
folder; directory
build; compile
package; library; dependency
feature flag; feature toggle; flag
error; exception; failure
frontend; front end; front-end; ui; user interface
backend; back end; back-end; server side
personal data; pii; personal information
delete; erase; purge; wipe
export; exporting
comment; comments
name; naming; named
monthly; month; per month
payment; pay out; payout
soil; dig; digging; till
pesticide; herbicide; chemical spray
water; watering; irrigate
"""

OPPOSITES = """
timing: sync, synchronous, blocking call | async, asynchronous, non-blocking
mutability: mutable, editable, in place, overwrite, edited | immutable, append-only, read-only, write-once,
    frozen
spread: centralised, centralized, central, single source | decentralised, decentralized, distributed,
    federated
shape!: monolith, monolithic, single deployable, modular monolith | microservices, separate services,
    service-oriented
working: manual, by hand, manually, handwritten | automatic, automated, automatically, automate, unattended
consent!: opt-in, opt in, opts in, explicit consent, only with consent, off by default, off unless, disabled
    by default | opt-out, opt out, opts out, on by default, enabled by default
need: =required, mandatory, compulsory, obligatory | optional, voluntary, up to each
model of data: relational, sql | nosql, schemaless, document store
location: local, locally, on-device, on device, offline, on-premise, on-premises, on-prem, self-hosted, self
    hosted, in-house, no network | =hosted, remote, cloud, third-party, =managed, saas, outsourced, external
    provider, hosted api, vendor
visibility: public, published, open to everyone, publicly, disclose, publish | private, secret,
    confidential, unpublished, hidden, on request, internal only
switch: enable, turned on, enabled, activate | disable, turned off, disabled, deactivate, switched off
presence: keep, kept, remain, stay, retain, preserve, maintain, available | remove, delete, drop, discard,
    retire, sunset, purge, sell, shut down, decommission, deprecate, phase out, erase, wipe, abolish,
    withdraw
consistency: strong consistency, strongly consistent, linearizable | eventual consistency, eventually
    consistent
state: stateful | stateless
typing: static typing, statically typed, strict typing | dynamic typing, dynamically typed, untyped
coupling: tightly coupled, tight coupling | loosely coupled, loose coupling
evaluation: eager, eagerly, upfront | lazy, lazily, on demand
source!: open source, open-source, permissive, mit, apache-2.0, bsd | closed source, proprietary, copyleft,
    gpl, agpl, agpl-3.0, gpl-3.0, gplv3
gate: block, blocking, fail, fails, gate, reject merge, stop the build, enforced | advisory, informational,
    report only, warn, warning, non-blocking check
light: dark, dark mode, dark theme | light, light mode, light theme
order: ascending, oldest first | descending, newest first
pull: push, push-based | pull, polling, poll, pull-based
render!: server-side rendering, server side rendering, ssr, server-rendered | client-side rendering, client
    side rendering, csr, single-page app, spa, client rendering
transport: plaintext, plain text, unencrypted, cleartext, clear text | encrypted, encryption, encrypt, tls
person!: first person, first-person | third person, third-person, omniscient
tense!: past tense | present tense
voice!: active voice | passive voice
spelling!: british, british english, uk spelling | american, american english, us spelling
pace!: self-paced, own pace, pick their own, choose their own, electives, free choice, choose freely | same
    sequence, fixed sequence, fixed order, same pace, lockstep, cohort-paced, same order, prescribed,
    assigned
assessed!: graded, counts towards, of the final mark, of the final grade, of the mark, of the grade,
    assessed | ungraded, not graded, pass-fail, no marks
fate: survive, survives, alive | die, dies, dead, death, killed, drown, perish
ending!: happy ending, hopeful ending, happily, reconcile, resolved ending | tragic ending, tragic, unhappy
    ending, tragically, open ending, unresolved, ambiguous ending
number of people: alone, individually, solo, individual work | in pairs, in groups, group work, together,
    pair programming, collaboratively
permission: allow, permit, permitted, accept, tolerate, welcome, allowed, may | forbid, ban, prohibit,
    disallow, refuse, forbidden, banned, prohibited, outlaw
metaphysics: fundamental, primitive, irreducible | emergent, derived, reducible, epiphenomenal, illusory
will: free will, indeterminism, indeterministic | determinism, deterministic universe, predetermined
motion: rest, rest day, day off, no training | training day, workout, long run, exercise, jog
place of work!: remote, remotely, from home, work from home | in the office, in office, on site, on-site,
    office days
payment: free, free of charge, at no cost, gratis | paid, charge, pay, subscription, fee
time of payment: in advance, prepaid, upfront | in arrears, afterwards, on delivery
paying: fixed price, flat fee, flat rate | hourly, time and materials, per hour, usage-based, pay as you go,
    metered
interest: fixed rate, fixed-rate | variable rate, variable-rate, adjustable
funds: index funds, index fund, passive fund, etf | individual stocks, stock picking, single stocks, active
    funds
borrow: debt-free, no debt, no loans | loan, borrow, credit line, debt-financed
openness: anonymous, anonymously, anonymised, pseudonymous | identified, real name, real names, named
    reviewers
feeding!: vegetarian, vegan, meat-free, plant-based | meat, beef, pork
garden!: organic, no-dig, compost only, chemical-free | pesticide, herbicide, synthetic fertiliser,
    chemical, rotavate
first: top-down | bottom-up
growth: scale up, vertical scaling, bigger machine, one machine, single server | scale out, horizontal
    scaling, cluster, several nodes
lifetime: permanent, forever, indefinitely, never expire, for ever | temporary, expire, short-lived,
    ephemeral, time-limited
versioning: vendored, vendor in, checked in | downloaded, fetched at build
pinning!: pinned, lock, exact versions, locked | latest, unpinned, floating, version ranges
sharing: =shared, common, pooled, one for all | per-tenant, =isolated, =separate, dedicated, one per, own
audience: open to all, open to anyone | members only, invite-only, invitation only, selected, restricted
writing mode: formal, formal tone | informal, casual, conversational, colloquial
recording: recorded | live only, unrecorded
chronology!: chronological, linear order, in order of time | non-linear, flashbacks, reverse order
narrator's trust: reliable narrator | unreliable narrator
deletion!: hard delete, physically delete, permanently delete, hard-delete | soft delete, tombstone, archive
    flag, soft-delete, marked as deleted
responsible: self-service, self service | by request, ticket required, through support
multiplicity!: single-tenant, one tenant per | multi-tenant, multitenant
history!: linear history, rebase | merge commits, merge commit
replaced: whitelist, allowlist, allow list, deny by default | blacklist, blocklist, deny list, allow by
    default
display: visible, =shown, always shown | hide, hidden, collapsed, invisible
speed of rollout!: at once, all at once, big bang, big-bang | gradually, gradual, incrementally, step by
    step, canary, in stages, phased
guilt: guilty, murderer, culprit, killer | innocent, not guilty
grain: discrete, quantised, atomic | continuous, infinitely divisible
extent: finite, bounded | infinite, unbounded, unlimited
presence of people!: online, virtual, by video, remotely | on site, on-site, in person, face to face, in the
    classroom
failure!: exceptions, exception, throw, raise | error codes, error code, result type, result types, return
    codes
compatibility: backwards compatible, backward compatible, backward-compatible, stay compatible | breaking
    changes, breaking change, break compatibility, incompatible
confirmation: confirm, prompt, prompts, ask first, confirmation | without confirmation, silently, without
    asking, no prompt
delivery!: at least once, at-least-once | at most once, at-most-once | exactly once, exactly-once
ordering: ordered, in order, fifo | unordered, any order, out of order
detail: verbose, detailed | terse, brief, concise, minimal
honesty: reliable, never lies, truthful | unreliable, lies, liar
certainty: deterministic, reproducible, seeded | random, randomised, nondeterministic, non-deterministic
reach: nested, hierarchical, tree, folders | flat, single level, flat list
weight: strict, strictly | lenient, permissive parsing, tolerant, forgiving
decimals!: decimal comma, commas as decimal | decimal point, dot as decimal
planning!: sprints, sprint, iterations, timeboxed | continuous flow, kanban, no sprints, flows continuously
paper: paper, on paper, printed | digital, paperless, electronic, on screen
"""

CHOICES = """
store: postgres | mysql, mariadb | mongodb, mongo | sqlite | dynamodb | cassandra, scylladb | oracle | sql
    server, mssql | cockroachdb | firestore, firebase | couchdb | neo4j | duckdb | clickhouse | flat files,
    plain files, markdown files, json files
broker: kafka | rabbitmq, amqp | nats | sqs | pulsar | redis streams | activemq | google pubsub, pub/sub |
    zeromq
file store!: s3, object storage, object store, blob storage, gcs | local disk, disk, filesystem, file
    system, nfs | in the database, blob column
place of execution!: on the server, server-side, on the backend | in the browser, client-side, on the
    client, on the device | at the edge
api: rest, restful | graphql | grpc | soap | json-rpc | websocket, websockets | thrift
wire format: json | protobuf, protocol buffers | avro | xml | messagepack, msgpack | csv | cbor
config format: toml | yaml | ini | json | dotenv
cloud: aws, amazon web services | gcp, google cloud | azure | heroku | digitalocean | hetzner | fly.io |
    on-premise, own servers, bare metal
language: python | golang, in go, go language | rust | java | typescript | javascript | kotlin | swift | c++
    | c# | ruby | elixir | scala | php | haskell | julia
interface library: react | vue | angular | svelte | solidjs | htmx | ember | jquery
web framework: django | flask | fastapi | rails | express | spring boot, spring | laravel | phoenix |
    next.js, nextjs
id scheme: uuid v4, uuidv4, random uuid | uuid v7, uuidv7 | uuid v5, uuidv5 | ulid | auto-increment,
    autoincrement, auto increment, serial integer, sequential integer, bigserial | snowflake | nanoid |
    content hash, sha-256 of | slug
login method: jwt, bearer token, json web token, access token, token | session cookie, cookie, server-side
    session, server session, cookies | basic auth, http basic | api key | mutual tls, mtls, client
    certificate
sign in by: password | passkey, webauthn, fido2, hardware key, security key | magic link, email link | sso,
    saml, oidc, single sign-on
second factor!: sms, text message | totp, authenticator app | hardware key, fido2, yubikey
token place: local storage, localstorage | cookie, cookies, httponly cookie | session storage | in memory,
    memory
password hash!: bcrypt | argon2, argon2id | scrypt | pbkdf2 | md5 | sha-1
ci: github actions | jenkins | gitlab ci | circleci | travis, travis ci | buildkite | concourse
forge: github | gitlab | bitbucket | gitea | sourcehut
repository layout!: monorepo, mono-repo, one repository, single repository | polyrepo, multi-repo, own
    repository, own repo, repository each, many repositories, one repository per, separate repositories
infrastructure code: terraform | pulumi | cloudformation | ansible | helm | cdk
orchestrator: kubernetes | nomad | docker swarm, swarm | ecs | docker compose, compose | systemd | lambda,
    serverless
package manager!: npm | yarn | pnpm | bun | deno
python packaging!: poetry | uv | pip | pipenv | conda
branching!: trunk-based, trunk based, trunk | git flow, gitflow, git-flow, long-lived branches, feature
    branches
merge style!: squash, squash merge | rebase | merge commit
search engine: elasticsearch | opensearch | solr | meilisearch | typesense | algolia | sqlite fts, fts5 |
    lucene
vector store: faiss | pinecone | pgvector | qdrant | weaviate | chroma, chromadb | milvus
css: tailwind | bootstrap | css modules | styled components, css-in-js | bulma
indentation!: tabs, tab | spaces, blanks
case!: snake case, snake_case | camel case, camelcase | kebab case, kebab-case | pascal case
time zone!: utc | local time, local timezone
unit system!: metric | imperial
citation!: apa | mla | chicago | ieee | vancouver
quotation!: single quotes, single quotation marks | double quotes, double quotation marks
currency: euro, eur, euros | dollar, usd, dollars | pound, gbp, pounds
teaching language!: english | german | french | spanish | italian
tracking: jira | linear | github issues | trello | asana
chat tool: slack | microsoft teams, teams | discord | irc | matrix
monitoring: prometheus | datadog | new relic | cloudwatch | grafana cloud
logging stack: elk | loki | splunk
test runner: pytest | unittest | jest | mocha | vitest | rspec | junit
map library: leaflet | mapbox | google maps
templating: jinja | mustache | handlebars | liquid
sort of cache: redis | memcached | in-process cache, in-memory cache
editor: vscode, vs code | vim, neovim | emacs | intellij
model vendor: openai, gpt-4 | anthropic, claude | llama, mistral | gemini | cohere, voyage
tuning: fine-tune, fine-tuning, fine tuning, lora | prompting, few-shot, prompt engineering | rag, retrieval
    | from scratch
optimiser: adam, adamw | sgd
weekday: monday, mondays | tuesday, tuesdays | wednesday, wednesdays | thursday, thursdays | friday, fridays
    | saturday, saturdays | sunday, sundays
month: january | february | march | april | june | july | august | september | october | november | december
time of day: morning, mornings | afternoon, afternoons | evening, evenings, night
season: spring | summer | autumn, fall season | winter
versioning scheme!: semver, semantic versioning | calver, calendar versioning
data residency: eu, europe, frankfurt, ireland | us, united states, us-east-1, virginia
viewpoint!: first person, first-person | second person, second-person | third person, third-person |
    omniscient
legal form!: association | limited company, ltd, gmbh | cooperative | foundation | nonprofit, non-profit
decision rule!: unanimous, unanimity, consensus | majority, majority vote | two-thirds, supermajority |
    chair decides, maintainer decides, benevolent dictator
"""

# Words that limit where a statement holds: a slot each, whose words exclude each other.
SCOPES = """
environment: production | staging | dev | ci | sandbox
audience: internal, internally, intranet, employee, staff | external, client-facing, customer-facing,
    public-facing, partner, third parties
device: mobile, phone, ios, android, tablet | desktop, laptop | browser, web
mobile system: ios | android
system: windows | linux | mac, macos
caller: machine client, machine, service account, machines | browser, human, browsers, people
region: eu, europe, european | us, united states, american | asia, apac, china
plan: free tier, free plan, trial | paid plan, pro plan, enterprise plan, enterprise
side: frontend | backend
stage: mvp, prototype, pilot, alpha, beta | general availability, ga, after launch, post-launch
age: beginner, beginners, novice | advanced, expert, experts
part of week: weekday, weekdays | weekend, weekends
season: summer | winter
kind of test: unit tests, unit test | integration tests, integration test | end-to-end tests, e2e, end to
    end
reading or writing: reads, read path | writes, write path
hours: business hours, office hours | out of hours, overnight
text kind: tutorial, tutorials | how-to, how to, howto | reference pages | blog posts
"""

GENERIC = word_set(
    """
    add adding adr after all allow also always api app application approach based before best better bip
    block change code contract data day decision default define document during each eip end erc error
    ethereum every everyone feature field file first full general get go good hold implement
    implementation include interface kep kubernetes level long make many message method most multiple
    name need new node number numpy one only option other own part pep per please pod process project
    proposal protocol provide put python real record request result rfc run same service set short
    single spec specification standard state support system team test thing time token transaction type
    until use user using value version via want way well when while whole work xep year
    """
)
"""Words that stand in too many texts for sharing one to say much."""
