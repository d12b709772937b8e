@tool
extends RefCounted
## Asks the user before a tool runs of which the user wants to be asked (switches.gd): in the editor's window,
## or, where there is none, through the client that calls, if that can ask its user.
##
## Where there is a window the client is not asked: it would answer for its own call. What is allowed "this
## session" is kept here and nowhere else, for the one client and the tools that were asked about.

const Context := preload("context.gd")
const Printable := preload("printable.gd")
const Switches := preload("switches.gd")

const ONCE: String = "allowed once"
const SESSION: String = "allowed for this session"
const DENIED: String = "denied"
const UNANSWERED: String = "not answered"
const WITHDRAWN: String = "withdrawn"
const IMPOSSIBLE: String = "could not be asked"
## What a client's user can choose, and what it means.
const ANSWERS: Dictionary[String, String] = {"Allow once": ONCE, "Allow this session": SESSION, "Deny": DENIED}

## How much of the arguments is shown, in letters.
const SHOWN_MOST: int = 4000

## A question has come, or is over.
signal changed


class Question:
	extends RefCounted
	## One call that waits for the user.

	signal answered

	var call_id: int
	var client: String
	var session: String
	var about: Array[String] ## the tools
	var title: String
	var arguments: String ## for the user to read
	var ends_at: int ## in milliseconds of Time.get_ticks_msec()
	var said: String = ""

	func answer(word: String) -> void:
		if said.is_empty():
			said = word
			answered.emit()

	## What a client answers for its user.
	func take(reply: Dictionary) -> void:
		var content: Variant = reply.get("content")
		var chosen: String = str(content.get("answer", "")) if content is Dictionary and reply.get("action") == "accept" else ""
		answer(IMPOSSIBLE if reply.has("error") else ANSWERS.get(chosen, DENIED))


## Those that wait, the oldest first.
var questions: Array[Question] = []
## Whether somebody sees them in a window.
var has_window: bool = false

var _allowed: Dictionary[String, bool] = {} # those for the session: "client\ntool"


## Whether the user has allowed this client these tools before.
func is_allowed(about: Array[String], call: Dictionary) -> bool:
	return about.all(func(tool: String) -> bool: return _allowed.has(_key(session_of(call), tool)))


## What the user says to a call, one of the words above; a coroutine.
func ask(server: Object, call: Dictionary, about: Array[String], title: String, arguments: Variant) -> String:
	var _self: RefCounted = self
	var question: Question = Question.new()
	question.call_id = int(call.get("id", 0))
	question.client = client_of(call)
	question.session = session_of(call)
	question.about = about
	question.title = title
	question.arguments = _shown(arguments)
	question.ends_at = Time.get_ticks_msec() + Switches.ask_limit_ms()
	if not has_window and not (call.get("capabilities", {}) as Dictionary).has("elicitation"):
		return IMPOSSIBLE
	Context.tree().create_timer(Switches.ask_limit_ms() / 1000.0, true, false, true).timeout.connect(question.answer.bind(UNANSWERED))
	questions.append(question)
	if has_window:
		server.call("send_progress", question.call_id, 0.0, 1.0, "Waiting for the user to allow this in the Godot editor.")
	else:
		_ask_client(server, question)
	changed.emit()
	if question.said.is_empty():
		await question.answered
	questions.erase(question)
	if question.said == SESSION:
		_allow(question)
	changed.emit()
	return question.said


## Nobody waits for this call any more.
func withdraw(call_id: int) -> void:
	for question: Question in questions.duplicate():
		if question.call_id == call_id:
			question.answer(WITHDRAWN)


func close() -> void:
	for question: Question in questions.duplicate():
		question.answer(WITHDRAWN)


## Why a call that was asked about is not made, or "".
static func why_not(said: String, about: Array[String]) -> String:
	var tools: String = "'%s'" % "', '".join(about)
	match said:
		ONCE, SESSION:
			return ""
		DENIED:
			return "The user was asked and does not allow %s. Nothing was done. Do not try it in another way: ask what is wanted instead." % tools
		UNANSWERED:
			return "The user wants to be asked before %s is used, and did not answer within %d s. Nothing was done." % [
					tools, Switches.ask_limit_ms() / 1000]
		WITHDRAWN:
			return "This was cancelled before the user had answered. Nothing was done."
	return ("The user wants to be asked before %s is used. This editor has no window for that, and this client cannot ask its user (elicitation). "
			+ "Nothing was done.") % tools


static func client_of(call: Dictionary) -> String:
	var told: Variant = call.get("client")
	var client: Dictionary = told if told is Dictionary else {} # nothing is known of one whose session outlived the server
	return ("%s %s" % [client.get("name", "a client"), client.get("version", "")]).strip_edges().left(80)


## Which client it is, of all that are called so.
static func session_of(call: Dictionary) -> String:
	return str(call.get("session", client_of(call)))


func _ask_client(server: Object, question: Question) -> void:
	var message: String = "%s wants to use %s in the Godot editor of this project.\n\n%s" % [
			Printable.line(question.client), ", ".join(question.about), question.arguments.left(1000)]
	var answered: Signal = server.call("ask_user", question.call_id, message, {"type": "object", "required": ["answer"],
			"properties": {"answer": {"type": "string", "title": "Allow it?", "enum": ANSWERS.keys()}}})
	answered.connect(question.take, CONNECT_ONE_SHOT)


## Others of the same client that wait for the same are answered, too.
func _allow(question: Question) -> void:
	for tool: String in question.about:
		_allowed[_key(question.session, tool)] = true
	for other: Question in questions.duplicate():
		if other.about.all(func(tool: String) -> bool: return _allowed.has(_key(other.session, tool))):
			other.answer(SESSION)


static func _key(session: String, tool: String) -> String:
	return session + "\n" + tool


## A line for each argument; texts as they are, for code is to be read.
static func _shown(arguments: Variant) -> String:
	var text: String = ""
	for key: Variant in arguments if arguments is Dictionary else {}:
		var value: Variant = arguments[key]
		text += "%s: %s\n" % [key, value if value is String else JSON.stringify(value)]
	text = Printable.lines(text.strip_edges())
	return text if text.length() <= SHOWN_MOST else text.left(SHOWN_MOST) + "…\n(%d letters more)" % (text.length() - SHOWN_MOST)
