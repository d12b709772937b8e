extends SceneTree
## Loads every script of the project and of its addons, so that the engine reports what it cannot
## parse; warnings that the project raises to errors count. Exits with the number of bad scripts.


func _initialize() -> void:
	var bad: int = 0
	for path: String in _find_scripts("res://"):
		var script: GDScript = ResourceLoader.load(path, "GDScript", ResourceLoader.CACHE_MODE_IGNORE)
		if script == null or script.reload(true) != OK:
			print("cannot parse: ", path)
			bad += 1
	quit(mini(bad, 100))


func _find_scripts(folder: String) -> PackedStringArray:
	var found: PackedStringArray = []
	for file: String in DirAccess.get_files_at(folder):
		if file.ends_with(".gd"):
			found.append(folder.path_join(file))
	for sub: String in DirAccess.get_directories_at(folder):
		found.append_array(_find_scripts(folder.path_join(sub)))
	return found
