"""Words that name one thing: a group a line, the first word gives the concept its name."""

from __future__ import annotations

from forgekit.conflict.rules.grammar import word_set

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
retention; retain; kept for; keep for;
    hold on to; stored for
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
bedtime; go to bed; bed time; going to bed
valid; stay good; stay valid; expire; lifetime; good for; time to live; ttl
buy; purchase; purchasing; procurement
hand in; submit; submission; due; deadline for; turn in; handed in
throw away; bin; discard; thrown away
linter; lint; static analysis
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
