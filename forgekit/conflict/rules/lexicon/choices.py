"""Questions of which a decision usually takes one answer for one purpose (PostgreSQL, MongoDB)."""

from __future__ import annotations

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
repository layout!: monorepo, mono-repo, one shared repository, shared repository, same repository, one
    repository, single repository | polyrepo, multi-repo, own repository, own repo, its own repository,
    their own repository, repository of its own, repository of their own, its own repo, repository each,
    many repositories, one repository per, separate repositories
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
time of day: morning, mornings, breakfast, dawn, before work | noon, midday, lunch, lunchtime | afternoon,
    afternoons, teatime | evening, evenings, dinner, supper, night, nights, bedtime, midnight
season: spring | summer | autumn, fall season | winter
versioning scheme!: semver, semantic versioning | calver, calendar versioning
data residency: eu, europe, frankfurt, ireland | us, united states, us-east-1, virginia
viewpoint!: first person, first-person | second person, second-person | third person, third-person |
    omniscient
part of month: start of the month, beginning of the month, first of the month | middle of the month,
    mid-month | end of the month, last day of the month, month end
table format!: parquet | iceberg | delta lake, delta tables | csv files | orc
warehouse!: snowflake | bigquery | redshift | databricks
etl!: airflow | dagster | prefect | luigi
notebooks!: jupyter | rmarkdown, quarto
statistics language: python | stata | sas | spss | matlab
text format: markdown | restructuredtext, rst | asciidoc | latex | word documents, docx
site generator!: hugo | jekyll | mkdocs | sphinx | docusaurus | eleventy
diagram tool: mermaid | plantuml | graphviz | drawio
design tool: figma | sketch | penpot
secret store: vault, hashicorp vault | aws secrets manager, secrets manager | environment variables, env
    vars | sops | 1password, bitwarden
load balancer!: nginx | haproxy | traefik | envoy | caddy
container engine: docker | podman | containerd
base system: debian | ubuntu | alpine | fedora | rhel, red hat | nixos | arch linux
feature flags: launchdarkly | unleash | flagsmith
payment provider!: stripe | paypal | adyen | braintree | klarna
mail provider!: sendgrid | mailgun | postmark | amazon ses
shell!: bash | zsh | fish shell | powershell
version control: git | mercurial | subversion, svn
deployment style: blue-green, blue green | rolling update, rolling updates | canary release, canary
office suite!: google docs, google workspace | microsoft 365, office 365 | libreoffice
notes tool: notion | confluence | obsidian
pain relief!: paracetamol | ibuprofen | aspirin
milk!: cow's milk, whole milk | oat milk | soy milk | almond milk
fuel!: electric car, electric | petrol | diesel | hydrogen
flooring!: carpet | wooden floor, parquet floor, floorboards | tiles | linoleum
bookkeeping!: cash basis, cash accounting | accrual basis, accrual accounting
pension!: defined benefit | defined contribution
legal form!: association | limited company, ltd, gmbh | cooperative | foundation | nonprofit, non-profit
decision rule!: unanimous, unanimity, consensus | majority, majority vote | two-thirds, supermajority |
    chair decides, maintainer decides, benevolent dictator
"""
