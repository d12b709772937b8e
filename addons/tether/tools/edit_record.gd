@tool
extends RefCounted
## Edits of the scene: each is made at once, so that the next one finds what it left; in the end all of them
## are one action that the user can undo, or are taken back as if nothing had been.

const Context := preload("context.gd")

## What is done to an object: [object, name of the method or property, arguments or value, whether it is a method].
var _done: Array[Array] = []
## How each edit is taken back, newest first.
var _back: Array[Array] = []
var _made: Array[Object] = []
var _removed: Array[Object] = []
var _names: Array[String] = []
## Whose history the action belongs to: the scene's, if any of them is about it.
var _target: Object
## Of the edit that is being told, and not made yet.
var _next: Array[Array] = []
var _next_back: Array[Array] = []


func do_method(object: Object, method: StringName, ...arguments: Array) -> void:
	_next.append([object, method, arguments, true])


func undo_method(object: Object, method: StringName, ...arguments: Array) -> void:
	_next_back.append([object, method, arguments, true])


func do_property(object: Object, property: StringName, value: Variant) -> void:
	_next.append([object, property, value, false])


func undo_property(object: Object, property: StringName, value: Variant) -> void:
	_next_back.append([object, property, value, false])


## What is freed when the edit can be made no more, having been undone.
func owns_made(object: Object) -> void:
	_made.append(object)


## What is freed when the edit can be undone no more.
func owns_removed(object: Object) -> void:
	_removed.append(object)


## Makes the edit that was told, of an object in the scene or of a resource with a file of its own.
func make(name: String, target: Object) -> void:
	for step: Array in _next:
		_take(step)
	_done.append_array(_next)
	_back = _next_back + _back
	_next = []
	_next_back = []
	_names.append(name)
	if _target == null or target is Node:
		_target = target


## What is done when all has been taken back.
func undo_last(object: Object, method: StringName, ...arguments: Array) -> void:
	_back.append([object, method, arguments, true])


## All is as it was before the first edit.
func drop() -> void:
	_take_back()
	for object: Object in _made:
		object.free()


func _take_back() -> void:
	for step: Array in _back:
		_take(step)


## Makes one action of all edits. Several are made anew by it: as it does so, it looks at the objects of each step,
## which are not all in the scene any more at the end.
func commit(context: Context, title: String = "") -> void:
	var is_done: bool = _names.size() == 1
	if not is_done:
		_take_back()
	var undo: EditorUndoRedoManager = context.begin(title if not title.is_empty() else _names[0] if is_done else "Edit scene (%d changes)" % _names.size(), _target)
	undo.force_fixed_history()
	for step: Array in _done:
		_add(step, undo.add_do_method, undo.add_do_property)
	for step: Array in _back:
		_add(step, undo.add_undo_method, undo.add_undo_property)
	for object: Object in _made:
		undo.add_do_reference(object)
	for object: Object in _removed:
		undo.add_undo_reference(object)
	context.commit(_target, not is_done)


static func _take(step: Array) -> void:
	if step[3]:
		(step[0] as Object).callv(step[1], step[2])
	else:
		(step[0] as Object).set(step[1], step[2])


static func _add(step: Array, as_method: Callable, as_property: Callable) -> void:
	if step[3]:
		as_method.callv([step[0], step[1]] + (step[2] as Array))
	else:
		as_property.call(step[0], step[1], step[2])
