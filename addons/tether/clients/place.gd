@tool
extends RefCounted
## A file of another program's: read whole, and replaced whole or not at all.

const MOST: int = 1024 * 1024 ## bytes; more is no configuration that a person looks at
const BOM: PackedByteArray = [0xef, 0xbb, 0xbf]

var path: String ## as the program knows it
var exists: bool = false
var bytes: PackedByteArray ## without a byte order mark
var has_bom: bool = false
var error: String = "" ## in words
var backup: String = "" ## where the text from before has been put

var _target: String # behind all links
var _mode: FileAccess.UnixPermissionFlags


func _init(where: String) -> void:
	path = where
	_target = _behind_links(where)
	if DirAccess.dir_exists_absolute(_target):
		error = "%s is a folder" % path
	elif error.is_empty() and FileAccess.file_exists(_target):
		_read()


func _behind_links(link: String) -> String:
	var folder: DirAccess = null
	for _i: int in 40:
		if not DirAccess.dir_exists_absolute(link.get_base_dir()):
			return link
		folder = DirAccess.open(link.get_base_dir())
		if folder == null or not folder.is_link(link):
			return link
		var next: String = folder.read_link(link)
		link = next if next.is_absolute_path() else link.get_base_dir().path_join(next)
	error = "%s is a link that leads to itself" % path
	return link


func _read() -> void:
	var file: FileAccess = FileAccess.open(_target, FileAccess.READ)
	exists = true
	if file == null:
		error = "%s cannot be read: %s" % [path, error_string(FileAccess.get_open_error())]
		return
	_mode = FileAccess.get_unix_permissions(_target)
	if file.get_length() > MOST:
		error = "%s has %d bytes, which is too much to change it here" % [path, file.get_length()]
		return
	bytes = file.get_buffer(file.get_length())
	if file.get_error() != OK:
		error = "%s cannot be read: %s" % [path, error_string(file.get_error())]
	has_bom = bytes.slice(0, 3) == BOM
	if has_bom:
		bytes = bytes.slice(3)
	if error.is_empty() and not _is_utf8():
		error = "%s is not UTF-8 text" % path


func _is_utf8() -> bool:
	var more: int = 0
	for c: int in bytes:
		if more > 0:
			if c & 0xc0 != 0x80:
				return false
			more -= 1
		elif c >= 0x80:
			more = 1 if c & 0xe0 == 0xc0 else 2 if c & 0xf0 == 0xe0 else 3 if c & 0xf8 == 0xf0 else 4
			if more == 4:
				return false
		elif c == 0:
			return false
	return more == 0


## Puts a new text in place, and the old one into a backup beside it. False with [member error] if
## that cannot be done; then nothing has changed.
func replace(text: PackedByteArray) -> bool:
	if not _make_folder(_target.get_base_dir()):
		return false
	if exists:
		backup = _free_name()
		if not _put(backup, bytes):
			backup = ""
			return false
	var fresh: String = _target + ".tether-new"
	if not _put(fresh, text):
		_drop_backup()
		return false
	var moved: Error = DirAccess.rename_absolute(fresh, _target)
	if moved != OK:
		error = "%s cannot be replaced: %s" % [path, error_string(moved)]
		DirAccess.remove_absolute(fresh)
		_drop_backup()
	return moved == OK


func _make_folder(folder: String) -> bool:
	if DirAccess.dir_exists_absolute(folder):
		return true
	if folder == folder.get_base_dir() or not _make_folder(folder.get_base_dir()):
		return false
	var made: Error = DirAccess.make_dir_absolute(folder)
	if made != OK:
		error = "the folder %s cannot be made: %s" % [folder, error_string(made)]
	return made == OK


func _drop_backup() -> void:
	if not backup.is_empty():
		DirAccess.remove_absolute(backup)
	backup = ""


func _free_name() -> String:
	var found: String = path + ".tether-backup"
	var number: int = 2
	while FileAccess.file_exists(found) or DirAccess.dir_exists_absolute(found):
		found = "%s.tether-backup-%d" % [path, number]
		number += 1
	return found


## Writes a file that nobody else may read but who may read the original.
func _put(where: String, text: PackedByteArray) -> bool:
	# Not plain WRITE, which an editor may turn into a file of another name until it is closed.
	var file: FileAccess = FileAccess.open(where, FileAccess.WRITE_READ)
	if file == null:
		error = "%s cannot be written: %s" % [where, error_string(FileAccess.get_open_error())]
		return false
	if exists:
		FileAccess.set_unix_permissions(where, _mode)
	if has_bom:
		file.store_buffer(BOM)
	file.store_buffer(text)
	file.flush()
	var failed: Error = file.get_error()
	file.close()
	if failed == OK and FileAccess.get_file_as_bytes(where).size() != text.size() + (3 if has_bom else 0):
		failed = ERR_FILE_CANT_WRITE
	if failed != OK:
		error = "%s cannot be written: %s" % [where, error_string(failed)]
		DirAccess.remove_absolute(where)
	return failed == OK
