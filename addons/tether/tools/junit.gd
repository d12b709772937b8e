@tool
extends RefCounted
## The results of tests in the form of JUnit, which the test frameworks write.

const LONGEST: int = 2000


## One dictionary for each test: "name", "suite", "status" (passed, failed, skipped), "seconds", and if it is known
## "message" and "at" (file:line). Empty if this is no such text.
static func read(text: String) -> Array[Dictionary]:
	var found: Array[Dictionary] = []
	var parser: XMLParser = XMLParser.new()
	var suite: String = ""
	var test: Dictionary = {}
	if parser.open_buffer(text.to_utf8_buffer()) != OK:
		return found
	while parser.read() == OK:
		match parser.get_node_type():
			XMLParser.NODE_ELEMENT:
				match parser.get_node_name():
					"testsuite":
						suite = _attribute(parser, "package", _attribute(parser, "name", ""))
						suite = suite if suite.begins_with("res://") else "res://" + suite
						var script: String = suite.path_join(_attribute(parser, "name", "") + ".gd")
						suite = script if FileAccess.file_exists(script) else suite
					"testcase":
						test = {"name": _attribute(parser, "name", ""), "suite": suite, "status": "passed",
								"seconds": snappedf(_attribute(parser, "time", "0").to_float(), 0.001)}
						found.append(test)
					"failure", "error":
						test["status"] = "failed"
						_add(test, _attribute(parser, "message", ""))
					"skipped":
						test["status"] = "skipped"
						_add(test, _attribute(parser, "message", ""))
			XMLParser.NODE_TEXT, XMLParser.NODE_CDATA:
				if test.get("status", "passed") != "passed":
					_add(test, parser.get_node_data() if parser.get_node_type() == XMLParser.NODE_TEXT else parser.get_node_name())
			XMLParser.NODE_ELEMENT_END:
				if parser.get_node_name() == "testcase":
					_finish(test)
					test = {}
	return found


static func _attribute(parser: XMLParser, name: String, default: String) -> String:
	return parser.get_named_attribute_value(name) if parser.has_attribute(name) else default


static func _add(test: Dictionary, text: String) -> void:
	var plain: String = text.strip_edges()
	if not plain.is_empty() and not plain in ["failed", "pending"]:
		test["message"] = (str(test.get("message", "")) + "\n" + plain).strip_edges().left(LONGEST)


## Where it failed: named with its file, or a line of the suite's.
static func _finish(test: Dictionary) -> void:
	var message: String = test.get("message", "")
	var named: RegExMatch = RegEx.create_from_string("(res://[^\\s:]+):(\\d+)").search(message)
	var line: RegExMatch = RegEx.create_from_string("(?i)\\b(?:at )?line:? (\\d+)").search(message)
	if named != null:
		test["at"] = named.get_string()
	elif line != null:
		var file: String = str(test["suite"]).get_slice(".gd", 0) + ".gd"
		test["at"] = "%s:%s" % [file, line.get_string(1)]
